/*
 * Checks of parsed JSON, which say whether a value of another process has the shape that this one expects. Values with
 * further fields pass: a newer process may send more.
 */

export type Check = (value: unknown) => boolean;

export const isText = (value: unknown): value is string => typeof value === 'string';
export const isNumber = (value: unknown): value is number => Number.isFinite(value);
export const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean';

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A check for `null` and the values that pass another. */
export const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);

/** A check for fields that may be missing. */
export const optionally =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);

export const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);

/** A check for objects of which every value passes another. */
export const recordOf =
  (check: Check): Check =>
  (value) =>
    isObject(value) && Object.values(value).every(check);

/** A check for objects with at least these fields. */
export function shape<T>(fields: { readonly [Name in keyof Required<T>]: Check }): (
  value: unknown,
) => value is T {
  const entries = Object.entries<Check>(fields);
  return (value): value is T =>
    isObject(value) && entries.every(([name, check]) => check(value[name]));
}
