import { fileURLToPath } from 'node:url';
import { portOf, type Address } from '../../test/support/data/address.ts';
import { Child } from '../../test/support/process/child.ts';
import { within } from '../../test/support/wait.ts';
import type { Figures } from '../load/messages.ts';
import type { Path, PathReport, PathRequest } from './messages.ts';

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));

/** A running path to one server. */
export interface StartedPath extends AsyncDisposable {
  /** Its process, whose cost is not the contestant's. */
  readonly child: Child;
  /** Where clients send to in place of the server. */
  readonly address: Address;
  /** Counts from here on. */
  begin(): void;
  /** Datagrams since `begin`, and the parts of them that were lost and that found no room. */
  figures(): Promise<Figures>;
}

export async function startPath(path: Path, server: Address): Promise<StartedPath> {
  const args = [MAIN, String(portOf(server)), JSON.stringify(path)];
  const child = new Child(process.execPath, args, { ipc: true });
  const ready = Promise.withResolvers<number>();
  let onFigures: (figures: Figures) => void = () => undefined;
  child.process.on('message', (report: PathReport) => {
    if (report.kind === 'ready') ready.resolve(report.port);
    else onFigures(report.figures);
  });
  const ask = (request: PathRequest): void => void child.process.send(request);
  const port = await within(ready.promise, () => `the path to listen\n${child.stderr}`);
  return {
    child,
    address: { host: '127.0.0.1', port },
    begin: () => ask('begin'),
    figures: () => {
      const { promise, resolve } = Promise.withResolvers<Figures>();
      onFigures = resolve;
      ask('report');
      return within(promise, () => `the figures of the path\n${child.stderr}`);
    },
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}
