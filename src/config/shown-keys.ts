import { WeirError } from '../errors.ts';
import { allProtocolsLoaded, findProtocol, protocolNames } from '../protocols/registry.ts';
import { DISCLOSURE, type Shape } from '../schema/shape.ts';
import { configFile } from './sources/config-file.ts';
import { subscribeFile } from './sources/subscribe-file.ts';

/**
 * The shapes of all tables: both files and the settings of each protocol.
 * @throws {KeysUnknownError}
 */
export function tableShapes(): readonly Shape[] {
  if (!allProtocolsLoaded()) throw new KeysUnknownError();
  const settings = (['inbound', 'outbound'] as const).flatMap((side) =>
    protocolNames(side).map((name) => findProtocol(name)?.[side]?.table?.shape),
  );
  return [configFile.shape, subscribeFile.shape, ...settings].filter(
    (shape) => shape !== undefined,
  );
}

/** Calls `visit` for every key below a shape, with the shape of its value. */
export function eachKey(shape: Shape, visit: (key: string, value: Shape) => void): void {
  for (const [key, value] of Object.entries(shape.properties ?? {})) {
    visit(key, value);
    eachKey(value, visit);
  }
  for (const choice of shape.anyOf ?? []) eachKey(choice, visit);
  if (shape.items) eachKey(shape.items, visit);
  if (typeof shape.additionalProperties === 'object') eachKey(shape.additionalProperties, visit);
}

/**
 * Whether errors may quote a value of this shape: numbers, booleans, words of a fixed list, and
 * text that the schema declares public. Any other text is confidential.
 */
const isDisclosed = (shape: Shape): boolean =>
  shape[DISCLOSURE] === 'public' ||
  shape.type === 'integer' ||
  shape.type === 'boolean' ||
  shape.enum !== undefined;

const isContainer = ({ type }: Shape): boolean => type === 'array' || type === 'object';

/** The keys of all tables. */
export interface ShownKeys {
  /** Every key that a file may have. */
  readonly known: ReadonlySet<string>;
  /** Keys whose values errors may quote: they are not confidential in any table. */
  readonly disclosed: ReadonlySet<string>;
}

/** The keys cannot be told before all protocols are loaded: see `withShownKeys`. */
export class KeysUnknownError extends WeirError {
  constructor() {
    super('keys_unknown', 'not all protocols have been loaded');
  }
}

let keys: ShownKeys | undefined;

/** The keys of all tables. @throws {KeysUnknownError} */
export const shownKeys = (): ShownKeys => (keys ??= collectKeys());

function collectKeys(): ShownKeys {
  const known = new Set<string>();
  const disclosed = new Set<string>();
  const confidential = new Set<string>();
  for (const shape of tableShapes()) {
    eachKey(shape, (key, value) => {
      known.add(key);
      if (!isContainer(value)) (isDisclosed(value) ? disclosed : confidential).add(key);
    });
  }
  return { known, disclosed: disclosed.difference(confidential) };
}
