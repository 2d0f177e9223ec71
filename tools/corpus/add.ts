import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { makeGeoFiles } from '../../test/support/config/support.ts';
import {
  CORPUS,
  digestOf,
  filesOf,
  isConfiguration,
  NODES,
  releases,
  warningsOf,
} from '../../test/support/corpus/corpus.ts';
import { blocksOf, PAGES, ROOT, type Block } from '../../test/support/docs/pages.ts';
import { runWeir } from '../../test/support/process/weir.ts';

/*
 * `npm run corpus:add`: keeps every configuration of this release in test/corpus/VERSION, and notes what the current
 * version warns of in all releases. A release whose changelog has a date is never changed again.
 */

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string;
};
const news = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
const folder = join(CORPUS, version);
const isReleased = !news.includes(`\n## ${version} (unreleased)\n`);
if (isReleased && existsSync(folder)) {
  process.stdout.write(`${version} is released: its configurations stay as they are\n`);
} else {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of await configurations()) writeFileSync(join(folder, name), text);
}
await writeTables();

/** By the names that they get: of this repository's examples, its pages, its generator and its importer. */
async function configurations(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const add = (prefix: string, path: string): void => {
    found.set(`${prefix}-${basename(path)}`, readFileSync(path, 'utf8'));
  };
  for (const [prefix, place] of [
    ['config', 'config'],
    ['debian', 'packaging/debian'],
    ['imported', 'test/support/import/documents'],
  ] as const) {
    for (const name of readdirSync(join(ROOT, place)).toSorted()) {
      if (name.endsWith('.toml')) add(prefix, join(ROOT, place, name));
    }
  }
  for (const block of PAGES.flatMap((page) => blocksOf(page))) {
    if (block.language !== 'toml') continue;
    const name = `${block.page.replace(/\.md$/, '').replaceAll('/', '-')}-${block.line}.toml`;
    if (isComplete(block)) found.set(name, block.text);
    else if (block.text.includes('[[proxy_server]]')) found.set(NODES, block.text);
  }
  for (const [name, text] of await generated()) found.set(name, text);
  return found;
}

/** A block that can be started as it is; others show a part of a file. */
function isComplete({ text }: Block): boolean {
  const hasEntry = /^\[\[(?:inbound|outbound)\]\]/m.test(text);
  return hasEntry && (text.includes('[[outbound]]') || text.includes('[subscribe]'));
}

/** What `weir generate server` writes, for every protocol it has. */
async function generated(): Promise<Map<string, string>> {
  const work = mkdtempSync(join(tmpdir(), 'weir-corpus-'));
  try {
    const protocols = 'vless,hysteria2,trojan,vmess,shadowsocks,http';
    const args = ['generate', 'server', `--protocol=${protocols}`, '--name=home'];
    const { ended, stderr } = await runWeir([...args, `--output=${work}`]);
    if (ended?.code !== 0) throw new Error(stderr);
    return new Map(
      readdirSync(work)
        .filter((name) => name.endsWith('.toml'))
        .toSorted()
        .map((name) => [`generated-${name}`, readFileSync(join(work, name), 'utf8')]),
    );
  } finally {
    rmSync(work, { recursive: true });
  }
}

async function writeTables(): Promise<void> {
  const files = makeGeoFiles();
  try {
    const all = releases().flatMap(filesOf);
    const warnings: [string, string[]][] = [];
    for (const path of all.filter(isConfiguration)) {
      warnings.push([path, await warningsOf(path, files)]);
    }
    write('digests.json', Object.fromEntries(all.map((path) => [path, digestOf(path)])));
    write('warnings.json', Object.fromEntries(warnings));
    process.stdout.write(`${all.length} files of ${releases().join(', ')}\n`);
  } finally {
    rmSync(files, { recursive: true });
  }
}

function write(name: string, table: object): void {
  writeFileSync(join(CORPUS, name), `${JSON.stringify(table, null, 2)}\n`);
}
