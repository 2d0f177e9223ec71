import { loadEffective, shownJson, shownToml } from '@weir/config/effective';
import { printable, printableJson } from '@weir/base/printable';
import { commandOf, optionLines, parserOf } from '../command.ts';
import { loadOrReport, type LoadInput } from '../load.ts';
import { SHOW } from './specs.ts';

const SHOW_HELP = `weir show, the configuration that is in force

Usage: weir show [options]

Prints TOML: the nodes and rules of the subscribe file are among the others, picks are targets,
keys that the file leaves out have their defaults. The comment after each value is its place.
Passwords, keys and ids are ***, so the output cannot be run. Paths of WebSockets, names of gRPC
services and URLs of resolvers are in it: look through it before you show it to others.

Options:
${optionLines(SHOW.options)}`;

const parseShow = parserOf(SHOW, ({ config, json = false }) => ({ config, json }));

/**
 * `weir show`. Resolves with the exit status: 1 for an invalid configuration.
 * @throws {UsageError}
 */
export const showCommand = commandOf(SHOW.name, SHOW_HELP, parseShow, async (asked, io) => {
  const { config, json } = asked;
  const text = await loadOrReport(config, (path, input) => shownText(path, input, json));
  if (text === undefined) return 1;
  io.stdout.write(text);
  return 0;
});

async function shownText(
  path: string | undefined,
  { files, bytes, onLogLevel }: LoadInput,
  json: boolean,
): Promise<string> {
  const { table, subscribe } = await loadEffective({ path, bytes }, files, { onLogLevel });
  if (json) return `${printableJson(shownJson(table))}\n`;
  const of = [
    path ?? 'the built-in configuration',
    ...(subscribe === undefined ? [] : [subscribe]),
  ];
  return `# What is in force of ${printable(of.join(' and '))}. Secrets are starred.\n\n${shownToml(table)}`;
}
