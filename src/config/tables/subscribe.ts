import { located, record, str } from '../../schema/decoder.ts';
import { fallback, optional, struct, type Output } from '../../schema/struct.ts';

/** `[subscribe]` as written. */
export const subscribeTable = located(
  struct({
    /** Relative to the folder of the configuration file. */
    path: optional(located(str)),
    /** The pick of each route group, and as `default` that of the default route. */
    routes: fallback(record(located(str)), new Map()),
  }),
);
export type SubscribeTable = Output<typeof subscribeTable>;

/** What is wrong with a `[subscribe]` that does not say where the file is. */
export const NEEDS_PATH = '[subscribe] needs a path naming the subscribe file';
