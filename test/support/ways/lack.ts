import type { Role } from './program.ts';
import type { Way } from './way.ts';

/** A capability of a way that some programs lack. */
export type Feature =
  | 'the client ends first'
  | 'the server ends first'
  | 'a server that speaks first'
  | 'two destinations of one association'
  | 'a dead server is noticed'
  | 'a client that is silent at first';

/** Capabilities that a program lacks at its end, and the note on them. */
export interface Lack {
  readonly features: readonly Feature[];
  readonly note: string;
}

/** Half-closes that a program does not pass on: all but those in `passed`. */
export function halfCloseLack(name: string, passed: readonly Feature[] = []): Lack[] {
  const ends: readonly Feature[] = ['the client ends first', 'the server ends first'];
  const features = ends.filter((end) => !passed.includes(end));
  if (features.length === 0) return [];
  const which = features.length === 2 ? '' : `, when ${features[0]}`;
  return [{ features, note: `${name} does not pass on a half-close${which}` }];
}

const TITLES = { v2ray: 'v2ray', xray: 'Xray' } as const;

/** The lacks that v2ray and Xray share. */
export function rayLacks(name: 'v2ray' | 'xray', way: Way, role: Role): Lack[] {
  const halfClose = halfCloseOfRay(name, way, role);
  if (role === 'server' || (way.protocol !== 'http' && way.protocol !== 'trojan')) return halfClose;
  if (way.protocol === 'trojan' && name === 'xray') return halfClose;
  const what = way.protocol === 'http' ? 'opens an HTTP tunnel' : 'sends a Trojan request';
  const silent: Lack = {
    features: ['a server that speaks first'],
    note: `${TITLES[name]} ${what} only when its client has sent something`,
  };
  return [...halfClose, silent];
}

function halfCloseOfRay(name: keyof typeof TITLES, way: Way, role: Role): Lack[] {
  // Its VMess has an empty chunk for the end, which a client sends before it closes.
  const marksEnd = way.protocol === 'vmess' && way.mux === undefined && role === 'client';
  return halfCloseLack(TITLES[name], marksEnd ? ['the client ends first'] : []);
}
