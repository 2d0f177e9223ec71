import { parentPort, type MessagePort } from 'node:worker_threads';
import { serializeError } from '../../app/loading/serialized-error.ts';
import { WeirError } from '../../errors.ts';
import type { FromFileThread, ToFileThread } from './file-thread.ts';
import { FileWork } from './file-work.ts';

// Runs in a separate thread: see file-thread.ts.

function serve(port: MessagePort): void {
  const work = new FileWork();
  const running = new Map<number, AbortController>();
  const send = (message: FromFileThread): void => port.postMessage(message);
  const onMessage = async (message: ToFileThread): Promise<void> => {
    const { id } = message;
    if (message.kind === 'cancel') {
      running.get(id)?.abort(new WeirError('cancelled', 'the request was given up'));
      return;
    }
    const controller = new AbortController();
    running.set(id, controller);
    try {
      const value = await work.ask(message.name, message.parameters, controller.signal);
      send({ kind: 'value', id, value });
    } catch (error) {
      send({ kind: 'failure', id, failure: serializeError(error) });
    } finally {
      running.delete(id);
    }
  };
  // A defect becomes an unhandled rejection, which ends the thread and fails its requests.
  port.on('message', (message: ToFileThread) => void onMessage(message));
}

if (parentPort) serve(parentPort);
