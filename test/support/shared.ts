import { after, before } from 'node:test';

type Use = <T extends AsyncDisposable | Disposable>(made: T) => T;

/**
 * Makes what the tests of a block share before the first of them. What was given to `use` is disposed of behind the
 * last, the latest first, also where a later step of `make` has failed.
 */
export function shared(make: (use: Use) => Promise<void>): void {
  const stack = new AsyncDisposableStack();
  before(() => make((made) => stack.use(made)));
  after(() => stack.disposeAsync());
}
