import { loadEffective, shownJson, shownToml } from '@weir/config/effective';
import { printable, printableJson } from '@weir/base/printable';
import { type CommandIo, expectOperands, parseOptions, optionLines } from '../command.ts';
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

/** Parses the arguments of `weir show`. @throws {UsageError} for invalid arguments */
export function parseShow(argv: readonly string[]) {
  const { values, positionals } = parseOptions(argv, SHOW.options);
  const { help = false, config, json = false } = values;
  if (!help) expectOperands(SHOW.name, positionals);
  return { help, config, json };
}

/**
 * `weir show`. Resolves with the exit status: 1 for an invalid configuration.
 * @throws {UsageError}
 */
export async function showCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const { help, config, json } = parseShow(argv);
  if (help) {
    io.stdout.write(SHOW_HELP);
    return 0;
  }
  const text = await loadOrReport(config, (path, input) => shownText(path, input, json));
  if (text === undefined) return 1;
  io.stdout.write(text);
  return 0;
}

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
