import { printable, quoted } from '@weir/base/printable';
import type { Span } from '@weir/proxy/schema';
import { type ConfigLocation, lineText, placeText } from '../errors.ts';
import type { Places } from '../sources/source-text.ts';
import type { GeoData } from '@weir/proxy/geo';
import type { Spec } from '@weir/proxy/spec';
import type { ApiOptions, ApiTable } from '../api.ts';
import type { ConfigFile, SubscribeFile } from '../sources/config-file.ts';

/** The kind of a warning; stable, for tests and the documentation. */
type WarningId =
  | 'accounts-ignored'
  | 'balancer-timing'
  | 'certificate'
  | 'dns-ignored'
  | 'empty-list'
  | 'key-readable'
  | 'log-level'
  | 'more'
  | 'no-users'
  | 'npm-header'
  | 'open-proxy'
  | 'pick-without-group'
  | 'repeated-user'
  | 'rule-never-matches'
  | 'same-address'
  | 'settings-ignored'
  | 'setting-unusable'
  | 'stream-ignored'
  | 'unknown-inbound'
  | 'unmatched-entry'
  | 'unused-balancer'
  | 'unused-group'
  | 'unused-outbound';

/** A valid setting that is almost certainly a mistake. */
export interface Warning {
  readonly id: WarningId;
  /** The message on one line. */
  readonly message: string;
  readonly location: ConfigLocation | undefined;
}

/** Returns the place of a span, `line 3`, for messages that refer to a second place. */
type LineOf = (span: Span) => string;

interface Noted {
  readonly id: WarningId;
  readonly span: Span;
  readonly message: (lineOf: LineOf) => string;
}

/** The most warnings that are kept while a document is examined, and the most that are shown. */
const MOST_NOTED = 1000;
const MOST_SHOWN = 50;

/**
 * Collects warnings. Messages are formatted only for those that are shown, so that any number of
 * warnings costs little.
 */
export class WarningList {
  readonly #noted: Noted[] = [];
  #count = 0;

  add(id: WarningId, span: Span, message: (lineOf: LineOf) => string): void {
    this.#count++;
    if (this.#noted.length < MOST_NOTED) this.#noted.push({ id, span, message });
  }

  /** The kept warnings, each with the offset of its place; in any order. */
  *kept(
    places: Places,
  ): Generator<{ readonly id: WarningId; readonly start: number; readonly message: string }> {
    const lineOf: LineOf = ({ start }) => lineText(places.locate(start));
    for (const { id, span, message } of this.#noted) {
      yield { id, start: span.start, message: printable(message(lineOf)) };
    }
  }

  /** Returns the shown warnings in document order; the last one counts those beyond the limit. */
  shown(places: Places): readonly Warning[] {
    const lineOf: LineOf = ({ start }) => lineText(places.locate(start));
    const shown = this.#noted
      .toSorted((a, b) => a.span.start - b.span.start)
      .slice(0, MOST_SHOWN)
      .map(({ id, span, message }): Warning => ({
        id,
        message: printable(message(lineOf)),
        location: places.locate(span.start),
      }));
    const rest = this.#count - shown.length;
    if (rest === 0) return shown;
    const message = `${rest} more ${rest === 1 ? 'warning is' : 'warnings are'} not shown`;
    return [...shown, { id: 'more', message, location: undefined }];
  }
}

/** Returns a warning in the form of compilers: `weir.toml:12:3: rule …`. */
export function renderWarning({ message, location }: Warning): string {
  return location ? `${placeText(location)}: ${message}` : message;
}

const LONGEST_QUOTE = 100;

/** Returns a text of the document in quotes, shortened for a message. */
export function quotedShort(text: string): string {
  const shown = text.length > LONGEST_QUOTE ? `${text.slice(0, LONGEST_QUOTE)}…` : text;
  return quoted(shown);
}

/** A valid configuration and the documents that it was lowered from. */
export interface Examined {
  /** The configuration file without the subscribe file. */
  readonly own: ConfigFile;
  readonly subscribe: SubscribeFile | undefined;
  /** The merge of both files. */
  readonly merged: ConfigFile;
  readonly spec: Spec;
  readonly geo: GeoData;
  readonly api: ApiOptions | undefined;
  readonly apiTable: ApiTable | undefined;
  /**
   * Whether routes can be switched at run time, so that every outbound and balancer may be picked.
   */
  readonly canPick: boolean;
  readonly places: Places;
  /** Number of characters at the start of the configuration file that npm has written: see `npmHeader`. */
  readonly npmHeader: number;
  /** The files that the configuration names and that every user can read. */
  readonly publicFiles: ReadonlySet<string>;
  /** The current time in Unix milliseconds. */
  readonly now: number;
}
