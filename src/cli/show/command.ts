import { loadEffective } from '../../config/effective/load-effective.ts';
import { shownJson, shownToml } from '../../config/effective/write-shown.ts';
import { printable, printableJson } from '../../printable.ts';
import type { CommandIo } from '../command.ts';
import { loadOrReport, type LoadInput } from '../load.ts';
import { parseShow, SHOW_HELP } from './arguments.ts';

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
  const text = await loadOrReport(
    config,
    {},
    (path, input) => shownText(path, input, json),
    (shown) => shown,
  );
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
