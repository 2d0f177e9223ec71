import { WeirError, type WeirErrorOptions } from '@weir/base';
import { type JsonValue, MAX_ROWS } from './shared/protocol.ts';

/** HTTP statuses by error code; every other code is sent as 422. */
const STATUSES: Readonly<Record<string, number>> = {
  'bad-request': 400,
  'read-only': 403,
  'not-found': 404,
  conflict: 409,
  busy: 429,
};

/** An action or a topic that has no result; the page receives the code, message, hints and details. */
export class ActionError extends WeirError {
  readonly details: JsonValue | undefined;

  /** @param code stable, for the page: `bad-request`, `conflict`, `refused` … */
  constructor(
    code: string,
    message: string,
    options?: WeirErrorOptions & { readonly details?: JsonValue },
  ) {
    super(code, message, options);
    this.details = options?.details;
  }

  /** The status of the response. */
  get status(): number {
    return STATUSES[this.code] ?? 422;
  }
}

/** Maximum number of characters of a text that a page sends. */
const MAX_TEXT = 1_000;

/**
 * The untrusted parameters of a topic or an action. Each method throws an ActionError `bad-request` for an invalid
 * value.
 */
export class Parameters {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(value: JsonValue) {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    this.#values = isObject ? (value as Readonly<Record<string, unknown>>) : {};
  }

  /** @param otherwise the default; without one the parameter is required */
  text(name: string, otherwise?: string): string {
    const value = this.#values[name] ?? otherwise;
    if (typeof value !== 'string' || value.length > MAX_TEXT) throw invalid(name);
    return value;
  }

  flag(name: string): boolean {
    const value = this.#values[name] ?? false;
    if (typeof value !== 'boolean') throw invalid(name);
    return value;
  }

  /** A whole number from 0 to `most`; `undefined` if it is missing. */
  count(name: string, most: number): number | undefined {
    const value = this.#values[name] ?? undefined;
    if (value === undefined) return undefined;
    const isCount = typeof value === 'number' && Number.isInteger(value);
    if (!isCount || value < 0 || value > most) throw invalid(name);
    return value;
  }

  /** The parameters `first` and `count`: the rows that a page shows. */
  window(): { readonly first: number; readonly count: number } {
    return {
      first: this.count('first', Number.MAX_SAFE_INTEGER) ?? 0,
      count: this.count('count', MAX_ROWS) ?? MAX_ROWS,
    };
  }

  /** A parameter with a fixed set of values. */
  choice<T extends string>(name: string, words: readonly T[], otherwise: T): T {
    const value = this.#values[name] ?? otherwise;
    const word = words.find((each) => each === value);
    if (word === undefined) throw invalid(name);
    return word;
  }
}

const invalid = (name: string): ActionError =>
  new ActionError('bad-request', `the parameter ${JSON.stringify(name)} is missing or invalid`);

/**
 * Casts a view or a result, which consists of JSON values, to `JsonValue`: TypeScript does not infer that for
 * interfaces.
 */
export const jsonOf = (view: object): JsonValue => view as JsonValue;
