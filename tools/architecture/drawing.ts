import { join } from 'node:path';
import type { Import } from './imports.ts';
import { packageOf } from './imports.ts';

/** The package that all others import: its arrows would hide the rest. */
const GROUND = new Set(['base']);

/** Colours of one theme. */
export interface Theme {
  readonly paper: string;
  readonly box: string;
  readonly edge: string;
  readonly cell: string;
  readonly text: string;
  readonly quiet: string;
  readonly arrow: string;
}

export const THEMES: Readonly<Record<'light' | 'dark', Theme>> = {
  light: {
    paper: '#ffffff',
    box: '#f6f8fa',
    edge: '#57606a',
    cell: '#ddf4ff',
    text: '#1f2328',
    quiet: '#59636e',
    arrow: '#8c959f',
  },
  dark: {
    paper: '#0d1117',
    box: '#161b22',
    edge: '#8b949e',
    cell: '#0c2d6b',
    text: '#e6edf3',
    quiet: '#9da7b3',
    arrow: '#6e7681',
  },
};

/** Where the picture of a theme is kept. */
export const picturePath = (theme: string): string =>
  join(import.meta.dirname, `../../docs/images/architecture-${theme}.svg`);

const WIDTH = 880;
const MARGIN = 16;
const GAP = 20;
/** Between two floors, where the arrows run. */
const STOREY = 44;
const TITLE_HEIGHT = 24;
const CELL_HEIGHT = 20;
const CELL_GAP = 4;
const PADDING = 8;
/** Average widths of a character at 14 and 11 pixels, with some room to spare. */
const TITLE_CHARACTER = 8.6;
const CELL_CHARACTER = 6.4;
/** Sweeps over the floors that put packages above what they import. */
const SWEEPS = 12;

interface Cell {
  readonly name: string;
  readonly width: number;
}

interface Box {
  readonly name: string;
  readonly rows: readonly (readonly Cell[])[];
  readonly width: number;
  readonly height: number;
  x: number;
  y: number;
}

const middle = (box: Box): number => box.x + box.width / 2;

/** Draws floors, packages and the arrows between them as SVG; the same imports give the same text. */
export function drawHouse(
  files: readonly string[],
  imports: readonly Import[],
  theme: Theme,
): string {
  const all = arrowsBetween(imports);
  const floors = floorsOf([...new Set(files.map(packageOf))], all).map((names) =>
    names.map((name) => boxOf(name, files)),
  );
  const boxes = new Map(floors.flat().map((box) => [box.name, box]));
  const arrows = reduced(all);
  const height = place(floors, boxes, arrows);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="t d" font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif">`,
    '<title id="t">The packages of Weir, with their rooms</title>',
    `<desc id="d">${description(floors)}</desc>`,
    `<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="${theme.arrow}"/></marker></defs>`,
    `<rect width="${WIDTH}" height="${height}" fill="${theme.paper}"/>`,
    ...pathsOf(boxes, arrows, theme),
    ...floors.flat().flatMap((box) => shapesOf(box, theme)),
    '</svg>',
    '',
  ].join('\n');
}

/** Packages from the top down, each on the first floor above all that it imports. */
function floorsOf(
  names: readonly string[],
  arrows: ReadonlyMap<string, ReadonlySet<string>>,
): readonly (readonly string[])[] {
  const heights = new Map<string, number>();
  const heightOf = (name: string): number => {
    const known = heights.get(name);
    if (known !== undefined) return known;
    const below = [...(arrows.get(name) ?? [])].map((other) => heightOf(other) + 1);
    const height = Math.max(GROUND.has(name) ? 0 : 1, ...below);
    heights.set(name, height);
    return height;
  };
  const floors: string[][] = [];
  for (const name of names) (floors[heightOf(name)] ??= []).push(name);
  return floors.toReversed();
}

/** The folders in a package, which are what is written into its box. */
const foldersIn = (name: string, files: readonly string[]): readonly string[] => [
  ...new Set(
    files.flatMap((file) => {
      const [first, folder, ...rest] = file.split('/');
      return first === name && folder !== undefined && rest.length > 0 ? [folder] : [];
    }),
  ),
];

function boxOf(name: string, files: readonly string[]): Box {
  const cells = foldersIn(name, files).map((name) => ({
    name,
    width: Math.ceil(name.length * CELL_CHARACTER) + 12,
  }));
  const widest = 560;
  const rows: Cell[][] = [];
  let used = Infinity;
  for (const cell of cells) {
    if (used + cell.width > widest) {
      rows.push([]);
      used = 0;
    }
    rows.at(-1)?.push(cell);
    used += cell.width + CELL_GAP;
  }
  const widthOf = (row: readonly Cell[]): number =>
    row.reduce((sum, { width }) => sum + width + CELL_GAP, -CELL_GAP);
  const title = Math.ceil(name.length * TITLE_CHARACTER);
  return {
    name,
    rows,
    width: Math.max(72, title, ...rows.map(widthOf)) + 2 * PADDING,
    height: TITLE_HEIGHT + rows.length * (CELL_HEIGHT + CELL_GAP) + (rows.length > 0 ? 4 : 6),
    x: 0,
    y: 0,
  };
}

/** One arrow for each pair of packages of which the first imports the second. */
function arrowsBetween(imports: readonly Import[]): ReadonlyMap<string, ReadonlySet<string>> {
  const arrows = new Map<string, Set<string>>();
  for (const { from, to } of imports) {
    const [above, below] = [packageOf(from), packageOf(to)];
    if (above === below || GROUND.has(below)) continue;
    const targets = arrows.get(above) ?? new Set();
    arrows.set(above, targets.add(below));
  }
  return arrows;
}

/** Without the arrows that a longer way implies. */
function reduced(
  arrows: ReadonlyMap<string, ReadonlySet<string>>,
): ReadonlyMap<string, readonly string[]> {
  const reaches = (from: string, to: string): boolean => {
    const next = arrows.get(from);
    return next !== undefined && (next.has(to) || [...next].some((name) => reaches(name, to)));
  };
  return new Map(
    Array.from(arrows, ([name, targets]) => [
      name,
      [...targets].filter(
        (target) => ![...targets].some((other) => other !== target && reaches(other, target)),
      ),
    ]),
  );
}

/** Gives every box its place, and answers the height of the picture. */
function place(
  floors: Box[][],
  boxes: ReadonlyMap<string, Box>,
  arrows: ReadonlyMap<string, readonly string[]>,
): number {
  let y = MARGIN;
  for (const floor of floors) {
    for (const box of floor) box.y = y;
    y += Math.max(...floor.map(({ height }) => height)) + STOREY;
    setSideBySide(floor);
  }
  const neighbours = neighboursOf(arrows);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const floor of sweep % 2 === 0 ? floors : floors.toReversed()) {
      const wanted = new Map(
        floor.map((box) => {
          const near = (neighbours.get(box.name) ?? []).flatMap((name) => boxes.get(name) ?? []);
          const sum = near.reduce((total, other) => total + middle(other), 0);
          return [box, near.length === 0 ? middle(box) : sum / near.length];
        }),
      );
      floor.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0));
      setSideBySide(floor);
    }
  }
  return y - STOREY + MARGIN;
}

function neighboursOf(
  arrows: ReadonlyMap<string, readonly string[]>,
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  const add = (name: string, other: string): void => {
    found.set(name, [...(found.get(name) ?? []), other]);
  };
  for (const [name, targets] of arrows) {
    for (const target of targets) {
      add(name, target);
      add(target, name);
    }
  }
  return found;
}

/** The boxes of a floor from left to right, in the middle of the picture. */
function setSideBySide(floor: readonly Box[]): void {
  const total = floor.reduce((sum, { width }) => sum + width + GAP, -GAP);
  let x = (WIDTH - total) / 2;
  for (const box of floor) {
    box.x = x;
    x += box.width + GAP;
  }
}

function pathsOf(
  boxes: ReadonlyMap<string, Box>,
  arrows: ReadonlyMap<string, readonly string[]>,
  theme: Theme,
): readonly string[] {
  const pairs = Array.from(arrows, ([name, targets]) =>
    targets.flatMap((target) => {
      const [from, to] = [boxes.get(name), boxes.get(target)];
      return from === undefined || to === undefined ? [] : [{ from, to }];
    }),
  ).flat();
  /** A point on the edge of a box for each of its arrows, in the order of their other ends. */
  const portOf = (box: Box, other: Box, end: 'from' | 'to'): number => {
    const far = end === 'from' ? 'to' : 'from';
    const all = pairs
      .filter((pair) => pair[end] === box)
      .map((pair) => pair[far])
      .sort((a, b) => middle(a) - middle(b));
    return box.x + (box.width * (all.indexOf(other) + 1)) / (all.length + 1);
  };
  return pairs.map(({ from, to }) => {
    const [x1, y1] = [Math.round(portOf(from, to, 'from')), from.y + from.height];
    const [x2, y2] = [Math.round(portOf(to, from, 'to')), to.y];
    const bend = Math.round(Math.min(60, (y2 - y1) / 2));
    return `<path d="M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}" fill="none" stroke="${theme.arrow}" stroke-width="1.2" marker-end="url(#a)"/>`;
  });
}

function shapesOf(box: Box, theme: Theme): readonly string[] {
  const x = Math.round(box.x);
  const shapes = [
    `<rect x="${x}" y="${box.y}" width="${box.width}" height="${box.height}" rx="6" fill="${theme.box}" stroke="${theme.edge}"/>`,
    `<text x="${x + PADDING}" y="${box.y + 17}" font-size="14" font-weight="600" fill="${theme.text}">${box.name}</text>`,
  ];
  for (const [index, row] of box.rows.entries()) {
    const y = box.y + TITLE_HEIGHT + index * (CELL_HEIGHT + CELL_GAP);
    let at = x + PADDING;
    for (const { name, width } of row) {
      shapes.push(
        `<rect x="${at}" y="${y}" width="${width}" height="${CELL_HEIGHT}" rx="3" fill="${theme.cell}"/>`,
        `<text x="${at + 6}" y="${y + 14}" font-size="11" fill="${theme.quiet}">${name}</text>`,
      );
      at += width + CELL_GAP;
    }
  }
  return shapes;
}

const description = (floors: readonly (readonly Box[])[]): string =>
  `From the top floor down; a package imports only packages below it: ${floors
    .map((floor) => floor.map(({ name }) => name).join(', '))
    .join('; ')}.`;
