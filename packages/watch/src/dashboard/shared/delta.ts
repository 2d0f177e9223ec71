import type { Delta, JsonValue } from './protocol.ts';

type JsonObject = { readonly [key: string]: JsonValue | undefined };
type DeltaOf<Kind extends string> = Extract<Delta, Readonly<Record<Kind, unknown>>>;
type RowId = string | number;
type Row = JsonObject & { readonly id: RowId };

/** The difference that turns `before` into `after`; `undefined` if they are equal. */
export function diff(before: JsonValue | undefined, after: JsonValue): Delta | undefined {
  if (before === after) return undefined;
  if (Array.isArray(before) && Array.isArray(after)) return diffArrays(before, after);
  if (isObject(before) && isObject(after)) return diffObjects(before, after);
  return { set: after };
}

/**
 * Applies a difference to a value. Unchanged parts, above all rows, keep their identity, so that a page renders only
 * the changed ones.
 *
 * @throws {RangeError} for a difference from another value
 */
export function patch(before: JsonValue | undefined, delta: Delta): JsonValue {
  if ('set' in delta) return delta.set;
  if ('keys' in delta) return patchObject(before, delta);
  return patchRows(before, delta);
}

function diffObjects(before: JsonObject, after: JsonObject): Delta | undefined {
  const keys: [string, Delta][] = [];
  for (const [key, value] of Object.entries(after)) {
    if (value === undefined) continue;
    const change = diff(own(before, key), value);
    if (change) keys.push([key, change]);
  }
  const gone = Object.keys(before).filter(
    (key) => own(before, key) !== undefined && own(after, key) === undefined,
  );
  if (keys.length === 0 && gone.length === 0) return undefined;
  const changed = Object.fromEntries(keys);
  return gone.length === 0 ? { keys: changed } : { keys: changed, gone };
}

function diffArrays(before: readonly JsonValue[], after: readonly JsonValue[]): Delta | undefined {
  const old = rowsOf(before);
  const now = rowsOf(after);
  if (!old || !now) return isEqualArray(before, after) ? undefined : { set: after };
  const rows: [RowId, Delta][] = [];
  for (const [id, row] of now) {
    const change = diff(old.get(id), row);
    if (change) rows.push([id, change]);
  }
  const order = [...now.keys()];
  const isSameOrder = sameItems(order, [...old.keys()]);
  if (isSameOrder) return rows.length === 0 ? undefined : { rows };
  return { order, rows };
}

function patchObject(before: JsonValue | undefined, delta: DeltaOf<'keys'>): JsonValue {
  if (!isObject(before)) throw mismatch();
  const values = new Map(Object.entries(before));
  for (const key of delta.gone ?? []) values.delete(key);
  for (const [key, change] of Object.entries(delta.keys)) {
    values.set(key, patch(values.get(key), change));
  }
  // Own properties whatever their names, which are untrusted: __proto__ too.
  return Object.fromEntries(values);
}

function patchRows(before: JsonValue | undefined, delta: DeltaOf<'rows'>): JsonValue {
  const old = Array.isArray(before) ? rowsOf(before) : undefined;
  if (!old) throw mismatch();
  const rows = new Map<RowId, JsonValue>(old);
  for (const [id, change] of delta.rows) rows.set(id, patch(rows.get(id), change));
  return (delta.order ?? [...old.keys()]).map((id) => {
    const row = rows.get(id);
    if (row === undefined) throw mismatch();
    return row;
  });
}

const mismatch = (): RangeError => new RangeError('a difference from another value');

/** The rows of a table by id; `undefined` for other arrays. */
function rowsOf(values: readonly JsonValue[]): Map<RowId, Row> | undefined {
  const rows = new Map<RowId, Row>();
  for (const value of values) {
    if (!isRow(value) || rows.has(value.id)) return undefined;
    rows.set(value.id, value);
  }
  return rows;
}

const isEqualArray = (a: readonly JsonValue[], b: readonly JsonValue[]): boolean =>
  a.length === b.length && b.every((value, index) => !diff(a[index], value));

const sameItems = (a: readonly RowId[], b: readonly RowId[]): boolean =>
  a.length === b.length && a.every((item, index) => item === b[index]);

const own = (object: JsonObject, key: string): JsonValue | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined;

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function isRow(value: JsonValue): value is Row {
  if (!isObject(value)) return false;
  const id = own(value, 'id');
  return typeof id === 'string' || typeof id === 'number';
}
