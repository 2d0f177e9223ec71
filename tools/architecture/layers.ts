import { packageOf, roomOf } from './imports.ts';

/**
 * The floors of packages with several rooms, from the ground up: there a file imports only its own room and rooms on the
 * floors below. Between packages `dependencies` and `exports` of each package.json say it.
 */
export const FLOORS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  base: [
    ['errors.ts', 'printable.ts', 'random.ts', 'bytes.ts', 'collections.ts', 'timers.ts', 'ip'],
    ['log', 'text', 'on-demand.ts'],
  ],
  io: [['platform'], ['net']],
  proxy: [
    ['limits'],
    ['spec.ts', 'schema', 'tracker', 'mux'],
    ['transports'],
    ['dns'],
    ['protocols'],
    ['engine'],
  ],
  server: [['supervisor', 'local-http'], ['api'], ['app']],
  client: [['client'], ['monitor']],
  nodes: [['import'], ['share'], ['fetch'], ['subscribe', 'probe', 'explain'], ['accounts']],
  watch: [['usage'], ['clash-api', 'dashboard', 'diagnose', 'links', 'metrics', 'top']],
  weir: [
    ['cli', 'library'],
    ['main.js', 'index.ts'],
  ],
};

/** The floor of a file within its package, 0 for the ground; `undefined` where the package has no floors. */
export function floorOf(name: string): number | undefined {
  const floors = FLOORS[packageOf(name)];
  return floors?.findIndex((rooms) => rooms.includes(roomOf(name)));
}
