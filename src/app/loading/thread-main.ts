import { setPriority } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import { RegexCache } from '../../engine/router/tables/regex-set.ts';
import { FilesRead } from './files-read.ts';
import type { AfterTask, ThreadMessage, ThreadRequest } from './config-thread.ts';
import { InlineRunner } from './inline-runner.ts';
import { serializeError } from './serialized-error.ts';
import { ValueSplitter } from './value-pieces.ts';

// Runs in a separate thread: see config-thread.ts.

/** Niceness that leaves the thread a tenth of the main thread's share of processor time under contention. */
const NICE = 10;

// Traffic has priority. On Linux a priority applies to the calling thread, elsewhere to the process.
if (process.platform === 'linux') yieldToTraffic();

function yieldToTraffic(): void {
  try {
    setPriority(NICE);
  } catch {
    // A seccomp filter may forbid it, such as systemd's `~@resources`: both threads then have equal shares.
  }
}

/** The result of the last task, of which pieces may still be requested. */
let result: ValueSplitter | undefined;

const send = (message: ThreadMessage, transfer: ArrayBuffer[] = []): void =>
  parentPort?.postMessage(message, transfer);

async function onRequest(request: ThreadRequest): Promise<void> {
  if (request.kind === 'more') {
    send({ kind: 'piece', piece: result?.next() });
    return;
  }
  const files = new FilesRead();
  const after = (): AfterTask => ({ files: files.seen, heap: getHeapStatistics().total_heap_size });
  const runner = new InlineRunner({ limit: Infinity, regexes: new RegexCache() });
  try {
    result = new ValueSplitter(await runner.run(request, { files }));
    send({ kind: 'value', first: result.first, ...after() }, result.transferable());
  } catch (error) {
    send({ kind: 'failure', failure: serializeError(error), ...after() });
  }
}

// A defect becomes an unhandled rejection, which ends the thread and fails the task.
parentPort?.on('message', (request: ThreadRequest) => void onRequest(request));
