import type { DelayHistory } from '../delays/history.ts';
import type { DelayTester } from '../delays/delay-tester.ts';
import type { FactReader, WatchedWeir } from '../fact-reader.ts';
import type { HeldMonitor } from '../held-monitor.ts';
import type { SharedSnapshots } from '../streams/shared-snapshots.ts';

/** What requests are answered from. */
export interface ClashContext {
  readonly weir: WatchedWeir;
  readonly live: HeldMonitor;
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

/** A request of a client whose path has an endpoint. */
export interface ClashRequest {
  /** The parts of the path with a name, decoded. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** @throws {LocalHttpError} 400 when the body is not JSON */
  readonly readJson: () => Promise<unknown>;
}

export interface ClashAnswer {
  readonly status: number;
  /** As JSON; absent for no body. */
  readonly json?: unknown;
}

/** One path and method of the controller. */
export interface ClashEndpoint {
  readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  /** With `:name` for a part that is any text. */
  readonly path: string;
  /** @throws {LocalHttpError}, and any WeirError for what Weir has refused */
  readonly answer: (
    context: ClashContext,
    request: ClashRequest,
  ) => Promise<ClashAnswer> | ClashAnswer;
}

export const NO_CONTENT: ClashAnswer = { status: 204 };

export const ok = (json: unknown): ClashAnswer => ({ status: 200, json });
