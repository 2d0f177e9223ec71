import { createHash } from 'node:crypto';

export interface PageDocumentParts {
  /** Paths of the style sheets, in order. */
  readonly styles: readonly string[];
  /** Path of the entry module. */
  readonly script: string;
  /** Import map: paths of modules by import specifier; `undefined` for a bundle. */
  readonly imports?: Readonly<Record<string, string>>;
  /** Paths of modules to preload. */
  readonly modules?: readonly string[];
}

/** The HTML document of the page, and the hashes of its inline scripts. */
export function pageDocument({ styles, script, imports, modules = [] }: PageDocumentParts): {
  readonly html: string;
  readonly scriptHashes: readonly string[];
} {
  const map = imports && JSON.stringify({ imports });
  const html = [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    '<meta name="robots" content="noindex">',
    '<title>Weir</title>',
    '<link rel="icon" href="/icon.svg">',
    ...styles.map((path) => `<link rel="stylesheet" href="${path}">`),
    ...(map === undefined ? [] : [`<script type="importmap">${map}</script>`]),
    ...modules.map((path) => `<link rel="modulepreload" href="${path}">`),
    `<script type="module" src="${script}"></script>`,
    '</head>',
    '<body>',
    '<noscript>The dashboard of Weir needs JavaScript; <code>weir top</code> shows the same in a terminal.</noscript>',
    '</body>',
    '</html>',
    '',
  ].join('\n');
  return { html, scriptHashes: map === undefined ? [] : [hashSource(map)] };
}

const hashSource = (script: string): string =>
  `sha256-${createHash('sha256').update(script).digest('base64')}`;
