import type { Locked } from './verdict.ts';

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>;
}

/** All packages of a lock file of npm, those for development and for other platforms included. */
export function lockedPackages(text: string): readonly Locked[] {
  const { packages } = JSON.parse(text) as Lock;
  return Object.entries(packages).flatMap(([folder, { version }]) => {
    const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(folder) ?? [];
    return name === undefined || version === undefined ? [] : [{ name, version }];
  });
}
