import { LocalHttpError } from '@weir/server/local-http';
import type { DelayTester, DelayHistory } from '../delays.ts';
import type { FactReader, WatchedWeir } from '../fact-reader.ts';
import type { LeasedMonitor } from '../leased-monitor.ts';
import type { SharedSnapshots } from '../streams/shared-snapshots.ts';

/** The dependencies of endpoints. */
export interface ClashContext {
  readonly weir: WatchedWeir;
  readonly live: LeasedMonitor;
  readonly facts: FactReader;
  readonly snapshots: SharedSnapshots;
  readonly delays: DelayHistory;
  readonly tester: DelayTester;
  /**
   * Updates the nodes of a subscription.
   * @throws {WeirError}
   */
  readonly updateSubscription: (name: string) => Promise<void>;
}

/** A client's request to an endpoint. */
export interface ClashRequest {
  /** The named segments of the path, decoded. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Reads the body. @throws {LocalHttpError} 400 when it is not JSON */
  readonly readJson: () => Promise<unknown>;
}

export interface ClashAnswer {
  readonly status: number;
  /** Value of the JSON body; absent for no body. */
  readonly json?: unknown;
}

/** A method of a path of the controller. */
export interface ClashEndpoint {
  readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  /** The path, with `{name?}` for a segment with any text. */
  readonly path: string;
  /** Handles a request. @throws {LocalHttpError}, and any WeirError when Weir has rejected it */
  readonly answer: (
    context: ClashContext,
    request: ClashRequest,
  ) => Promise<ClashAnswer> | ClashAnswer;
}

export const NO_CONTENT: ClashAnswer = { status: 204 };

export const ok = (json: unknown): ClashAnswer => ({ status: 200, json });

/** An error in mihomo's form, `{"message": …}`. */
export const clashError = (status: number, message: string): LocalHttpError =>
  new LocalHttpError(status, 'clash', message);

/** Errors with mihomo's texts. */
export const notFound = (): LocalHttpError => clashError(404, 'Resource not found');
export const bodyInvalid = (): LocalHttpError => clashError(400, 'Body invalid');
export const unauthorized = (): LocalHttpError => clashError(401, 'Unauthorized');
