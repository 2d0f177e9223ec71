import { setPriority } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import { editPick } from '../../config/edit/pick-editor.ts';
import { loadConfigFile } from './load-aside.ts';
import { detachConfig, type LoadOutcome } from './detached-config.ts';
import { detachError } from './detached-error.ts';
import { FileLog } from '../log/file-log.ts';
import { Pieces } from './pieces.ts';
import { readRoutes } from './routes-aside.ts';
import type { ThreadMessage, ThreadRequest, ThreadTask } from './thread.ts';

// Runs in a separate thread: see thread.ts.

/** Of processor time a tenth of what the main thread gets when there is not enough for both. */
const NICE = 10;

// Traffic goes first. On Linux a priority is that of the calling thread, elsewhere of the process.
if (process.platform === 'linux') yieldToTraffic();

function yieldToTraffic(): void {
  try {
    setPriority(NICE);
  } catch {
    // A filter of system calls may forbid it, as systemd's `~@resources` does: then both have the same.
  }
}

/** The rest of the outcome of the last task. */
let pieces: Pieces | undefined;

async function carryOut(task: ThreadTask): Promise<unknown> {
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

/** A failed load reports the files that it has read, too. */
async function load(options: ThreadTask & { kind: 'load' }): Promise<LoadOutcome> {
  const files = new FileLog();
  const result = await loadConfigFile(options.path, { ...options, files }).then(
    detachConfig,
    detachError,
  );
  return { files: files.seen, result };
}

const send = (message: ThreadMessage, moved: ArrayBuffer[] = []): void =>
  parentPort?.postMessage(message, moved);

async function onRequest(request: ThreadRequest): Promise<void> {
  if (request.kind === 'more') {
    send({ kind: 'piece', piece: pieces?.next() });
    return;
  }
  try {
    pieces = new Pieces(await carryOut(request));
    const { total_heap_size: heap } = getHeapStatistics();
    send({ kind: 'value', first: pieces.first, heap }, pieces.movable());
  } catch (error) {
    send({ kind: 'failure', failure: detachError(error) });
  }
}

// A defect in there ends the thread, as an unhandled rejection does, and is reported by the task.
parentPort?.on('message', (request: ThreadRequest) => void onRequest(request));
