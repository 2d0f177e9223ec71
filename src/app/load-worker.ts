import { parentPort, workerData } from 'node:worker_threads';
import { loadConfigFile } from './config-source.ts';
import { buffersOf, detachConfig, detachError, type LoadOutcome } from './detached-config.ts';
import { FileLog } from './file-log.ts';
import type { LoadTask } from './load-aside.ts';

// The thread of one load: see load-aside.ts.

const { path, bytes, serveApi } = workerData as LoadTask;
const files = new FileLog();
const result = await loadConfigFile(path, { files, bytes, serveApi }).then(
  detachConfig,
  detachError,
);
const outcome: LoadOutcome = { files: files.seen, result };
const transfer = result.kind === 'loaded' ? [...buffersOf(result.tables)] : [];
parentPort?.postMessage(outcome, transfer);
