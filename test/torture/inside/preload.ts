import { createHook } from 'node:async_hooks';
import { readdirSync, readlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import type { Failure } from '../faults.ts';
import { failFileCalls } from './file-calls.ts';
import { failNativeCalls } from './native-calls.ts';
import { Trigger } from './trigger.ts';

/*
 * Loaded by `--import` before Weir, in Weir's process: it makes calls fail as the process that has
 * started it asks by messages. Weir's own code is as it always is.
 */

/** What is asked of the process; each request has one response, with the same number. */
export type Request =
  | { readonly id: number; readonly do: 'arm'; readonly failure: Failure | undefined }
  | { readonly id: number; readonly do: 'disarm' }
  | { readonly id: number; readonly do: 'state' };

export interface Disarmed {
  readonly fired: boolean;
  /** Calls since it was armed, by their names. */
  readonly counts: Readonly<Record<string, number>>;
}

/** What the process holds at the moment. */
export interface Held {
  readonly sockets: number;
  /** Pipes of splicing, which are kept for some seconds. */
  readonly pipes: number;
  readonly otherDescriptors: number;
  /** Timers, with those that do not keep the process alive. */
  readonly timers: number;
  /** Those of relays and dials, which end with their flows. */
  readonly flowTimers: number;
  /** Where each of them was made, sorted. */
  readonly timersFrom: readonly string[];
}

export interface Response {
  readonly id: number;
  readonly result: Disarmed | Held | undefined;
}

/** What is armed from the first call on: a failure as JSON, or `null` to count alone. */
export const ARMED_AT_START = 'WEIR_TORTURE_FAILURE';

/** Where each timer was made, by its id. */
const timers = new Map<number, string>();

/** Threads for configurations have it too, and neither sockets nor files that they write. */
if (isMainThread) install();

function install(): void {
  const trigger = new Trigger();
  createHook({
    init: (id, type) => void (type === 'Timeout' && timers.set(id, placeInWeir())),
    destroy: (id) => void timers.delete(id),
  }).enable();
  failNativeCalls(trigger);
  const config = process.argv[process.argv.indexOf('--config') + 1];
  if (config !== undefined) failFileCalls(trigger, dirname(config));
  const first = process.env[ARMED_AT_START];
  if (first !== undefined) trigger.arm((JSON.parse(first) as Failure | null) ?? undefined);
  process.on('message', (request: Request) => {
    const response: Response = { id: request.id, result: respond(trigger, request) };
    process.send?.(response);
  });
}

function respond(trigger: Trigger, request: Request): Response['result'] {
  switch (request.do) {
    case 'arm':
      trigger.arm(request.failure);
      return undefined;
    case 'disarm':
      return trigger.disarm();
    case 'state':
      return held();
    default:
      return request satisfies never;
  }
}

function held(): Held {
  const targets = readdirSync('/proc/self/fd').map(targetOf);
  const count = (start: string): number =>
    targets.filter((target) => target.startsWith(start)).length;
  const [sockets, pipes] = [count('socket:'), count('pipe:')];
  return {
    sockets,
    pipes,
    otherDescriptors: targets.length - sockets - pipes,
    timers: [...timers.values()].filter((place) => !place.startsWith(SUMMARY)).length,
    flowTimers: [...timers.values()].filter((place) => OF_FLOWS.test(place)).length,
    timersFrom: [...timers.values()].toSorted(),
  };
}

/** The log counts failures for up to a minute before it writes their number. */
const SUMMARY = 'engine/flow-log.ts';
const OF_FLOWS = /^(?:net\/links|engine)\/(?!flow-log)/;

/** The innermost places of Weir's own code on the stack, but for those that all timers have. */
function placeInWeir(): string {
  const PLACES = 4;
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 20;
  const { stack = '' } = new Error('a timer');
  Error.stackTraceLimit = stackTraceLimit;
  const places = [...stack.matchAll(/\/src\/(?!net\/time\/)([^)\s]+:\d+):\d+/g)].map(
    ([, place]) => place,
  );
  return places.slice(0, PLACES).join(' < ') || 'Node';
}

/** The descriptor of the folder itself is gone when it is looked at. */
function targetOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return '';
  }
}
