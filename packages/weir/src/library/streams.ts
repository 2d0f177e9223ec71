import {
  type StartTimes,
  flowView,
  trafficView,
  type FlowView,
  type TrafficView,
} from '@weir/server/api/views';
import type { FlowNotice, FlowSubscription, TrafficSampler } from '@weir/proxy/tracker';

/** A flow that has opened or closed, or the number of events that a slow reader has missed. */
export type FlowEventView =
  | { readonly event: 'opened'; readonly flow: FlowView }
  | { readonly event: 'closed'; readonly flow: FlowView }
  | { readonly event: 'lagged'; readonly missed: number };

/** A stream of events in order. `close`, or leaving a `for await`, ends it. */
export interface EventStream<T> extends AsyncIterableIterator<T, undefined>, AsyncDisposable {
  /** Ends the stream; reads that wait get its end. */
  close(): void;
}

/** A stream of every flow that opens or closes from this call on, until the stream is closed or `end` aborts. */
export function flowEvents(
  subscription: FlowSubscription,
  times: StartTimes,
  end: AbortSignal,
): EventStream<FlowEventView> {
  return untilEnd(end, (signal) => {
    signal.addEventListener('abort', () => subscription.close(), { once: true });
    if (signal.aborted) subscription.close();
    return async () => {
      const notice = await subscription.next();
      return notice && eventView(notice, times);
    };
  });
}

/** A stream of every traffic sample after the current one; a slow reader skips some. */
export function trafficSamples(
  sampler: TrafficSampler,
  end: AbortSignal,
): EventStream<TrafficView> {
  let seen = sampler.latest;
  return untilEnd(end, (signal) => async () => {
    const snapshot = await sampler.newerThan(seen, signal);
    seen = snapshot;
    return snapshot && trafficView(snapshot);
  });
}

function eventView(notice: FlowNotice, times: StartTimes): FlowEventView {
  if (notice.kind === 'lagged') return { event: 'lagged', missed: notice.missed };
  return { event: notice.kind, flow: flowView(notice.flow, times.read()) };
}

/**
 * A stream over a source that returns one item at a time, and `undefined` after its signal has aborted. It starts
 * immediately, whereas an async generator starts with the first `next`.
 */
export function untilEnd<T extends object>(
  end: AbortSignal,
  open: (signal: AbortSignal) => () => Promise<T | undefined>,
): EventStream<T> {
  const closing = new AbortController();
  const close = (): void => {
    end.removeEventListener('abort', close);
    closing.abort();
  };
  end.addEventListener('abort', close, { once: true });
  if (end.aborted) close();
  const take = open(closing.signal);
  /** The last call of `next`: calls are resolved in order. */
  let last: Promise<unknown> = Promise.resolve();
  const takeNext = async (): Promise<IteratorResult<T, undefined>> => {
    const value = closing.signal.aborted ? undefined : await take();
    if (value !== undefined) return { done: false, value };
    close();
    return { done: true, value: undefined };
  };
  return {
    next: () => {
      const result = last.then(takeNext);
      last = result.catch(() => undefined); // the caller of `next` receives the failure
      return result;
    },
    return: async () => {
      close();
      return { done: true, value: undefined };
    },
    close,
    [Symbol.asyncIterator]() {
      return this;
    },
    [Symbol.asyncDispose]: async () => close(),
  };
}
