import {
  shownString,
  STARS,
  type ShownTable,
  type ShownValue,
} from '../config/effective/shown-value.ts';

/**
 * Further keys whose values give access to a server, or identify a customer of a resolver; `weir show` prints them, for
 * its user alone.
 */
const HIDDEN = new Map<string, (value: string) => string>([
  // A secret path protects the server from probes.
  ['stream.ws.path', (path) => (path === '/' ? path : STARS)],
  ['stream.grpc.service_name', () => STARS],
  // The path of a resolver often names its customer.
  ['dns.url', (url) => `${/^https?:\/\/[^/?#@]*(?=[/?#]|$)/i.exec(url)?.[0] ?? ''}/${STARS}`],
]);

/** A configuration that may be attached to a report: paths that work as passwords are starred too. */
export const shareable = (table: ShownTable): ShownTable => tableOf(table, []);

function tableOf({ entries, ...table }: ShownTable, path: readonly string[]): ShownTable {
  return {
    ...table,
    entries: new Map(
      Array.from(entries, ([key, value]) => [key, valueOf(value, [...path, key])] as const),
    ),
  };
}

function valueOf(value: ShownValue, path: readonly string[]): ShownValue {
  switch (value.kind) {
    case 'table':
      return tableOf(value, path);
    case 'array':
      return { ...value, items: value.items.map((item) => valueOf(item, path)) };
    case 'scalar': {
      const hide = HIDDEN.get(path.slice(path[0] === 'dns' ? 0 : 1).join('.'));
      const { json, from } = value;
      if (!hide || typeof json !== 'string' || from === 'default') return value;
      return shownString(hide(json), from);
    }
    default:
      return value satisfies never;
  }
}
