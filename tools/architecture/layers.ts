import { roomOf } from './imports.ts';

/**
 * The floors of the house, from the ground up. A file imports only its own room and rooms on the floors
 * below.
 */
export const LAYERS: readonly (readonly string[])[] = [
  ['errors.ts', 'printable.ts', 'version.ts', 'collections', 'ip'],
  ['log', 'platform', 'schema', 'text', 'on-demand.ts'],
  ['net'],
  ['spec.ts', 'crypto', 'tracker', 'mux'],
  ['congestion'],
  ['netstack', 'quic'],
  ['http'],
  ['transports'],
  ['dns'],
  ['protocols'],
  ['engine'],
  ['config', 'supervisor'],
  ['import', 'share', 'api'],
  ['app'],
  ['fetch', 'client', 'local-http'],
  ['accounts', 'subscribe', 'probe', 'explain', 'monitor'],
  ['clash-api', 'dashboard', 'diagnose', 'metrics', 'top'],
  ['cli', 'library'],
  ['main.ts', 'index.ts'],
];

/** The floor of a file, 0 for the ground; -1 for a file in a room that `LAYERS` lacks. */
export const floorOf = (path: string): number =>
  LAYERS.findIndex((rooms) => rooms.includes(roomOf(path)));
