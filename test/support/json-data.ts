/**
 * Whether JSON text tells a value from every other: strings, finite numbers, booleans, lists and tables,
 * where a key without a value is as good as none. Digests of a Spec rely on it.
 */
export function isJsonData(value: unknown): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return true;
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0);
    case 'object':
      if (value === null) return true;
      if (Array.isArray(value))
        return value.every((item) => item !== undefined && isJsonData(item));
      return (
        Object.getPrototypeOf(value) === Object.prototype && Object.values(value).every(isJsonData)
      );
    default:
      return false;
  }
}
