/**
 * Whether JSON text tells a value from every other: strings, finite numbers, booleans, lists and tables,
 * where a key without a value is as good as none. Digests of a Spec rely on it.
 */
export function isJsonData(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0);
  if (typeof value !== 'object') return false;
  if (Array.isArray(value)) return value.every((item) => item !== undefined && isJsonData(item));
  return (
    Object.getPrototypeOf(value) === Object.prototype && Object.values(value).every(isJsonData)
  );
}
