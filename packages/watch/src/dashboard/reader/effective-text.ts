import type { FileDigests } from '@weir/server/app/loading/file-digests';
import { loadEffective, shownToml } from '@weir/config/effective';
import type { Warning } from '@weir/config/load';
import type { ConfigTextView, WarningView } from '../config/view.ts';
import { weirFiles } from '../config/weir-files.ts';
import type { OfFile, TextWanted } from './file-requests.ts';

/** Maximum number of lines of the effective configuration. */
const MAX_LINES = 200_000;
/** Maximum number of characters of a line. */
const MAX_LINE = 500;

/** The effective configuration as TOML with secrets starred, and its warnings. */
export class EffectiveText {
  readonly warnings: readonly WarningView[];
  readonly #lines: readonly string[];

  private constructor(warnings: readonly Warning[], lines: readonly string[]) {
    this.warnings = warnings.map(warningView);
    this.#lines = lines;
  }

  /**
   * Loads a configuration as the running Weir would.
   * @param bytes replace the contents of the file
   * @throws {ConfigError}
   */
  static async read(
    { path, pid }: OfFile,
    files: FileDigests,
    bytes?: Uint8Array,
  ): Promise<EffectiveText> {
    const source = { path: path ?? undefined, bytes };
    const { table, warnings } = await loadEffective(
      source,
      await weirFiles(pid ?? undefined, files),
    );
    const lines = shownToml(table).trimEnd().split('\n');
    const kept = lines.slice(0, MAX_LINES);
    if (lines.length > kept.length) kept.push(`# ${lines.length - kept.length} lines follow`);
    return new EffectiveText(warnings, kept);
  }

  get lines(): number {
    return this.#lines.length;
  }

  window({ find, first, count }: TextWanted): ConfigTextView {
    const lines = this.#lines;
    const word = find.toLowerCase();
    const matching =
      word === ''
        ? undefined
        : [...lines.keys()].filter((at) => lines[at]?.toLowerCase().includes(word));
    const total = matching?.length ?? lines.length;
    const from = Math.min(first, Math.max(0, total - 1));
    const rows = Array.from({ length: Math.max(0, Math.min(count, total - from)) }, (_, row) => {
      const at = matching ? (matching[from + row] ?? 0) : from + row;
      return { id: at + 1, text: (lines[at] ?? '').slice(0, MAX_LINE) };
    });
    return { total, first: from, rows };
  }
}

const warningView = ({ id, message, location }: Warning): WarningView => ({
  id,
  message,
  place: location ? { ...location, file: location.file ?? null } : null,
});
