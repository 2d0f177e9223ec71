import { parentPort, workerData } from 'node:worker_threads';
import { editPick } from '../config/edit/pick-editor.ts';
import { loadConfigFile } from './config-source.ts';
import { buffersOf, detachConfig, type LoadOutcome } from './detached-config.ts';
import { detachError } from './detached-error.ts';
import { FileLog } from './file-log.ts';
import { readRoutes } from './routes-aside.ts';
import type { ThreadAnswer, ThreadTask } from './thread.ts';

// What runs in a thread of its own: see thread.ts.

const task = workerData as ThreadTask;

async function carryOut(): Promise<unknown> {
  switch (task.kind) {
    case 'load':
      return load(task);
    case 'routes':
      return readRoutes(task.path, new FileLog());
    case 'edit':
      return editPick(task.bytes, task, task.group, task.target, task.path);
    default:
      return task satisfies never;
  }
}

/** A load that failed has seen files, too. */
async function load(options: ThreadTask & { kind: 'load' }): Promise<LoadOutcome> {
  const files = new FileLog();
  const result = await loadConfigFile(options.path, { ...options, files }).then(
    detachConfig,
    detachError,
  );
  return { files: files.seen, result };
}

const answer: ThreadAnswer = await carryOut().then(
  (value) => ({ value }),
  (error: unknown) => ({ failure: detachError(error) }),
);
parentPort?.postMessage(answer, [...buffersOf(answer)]);
