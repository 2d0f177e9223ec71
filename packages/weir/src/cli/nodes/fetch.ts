import { STATUS_CODES } from 'node:http';
import { WeirError, UsageError } from '@weir/base';
import type { FetchedDocument } from '@weir/nodes/fetch';
import { openFetch } from '@weir/nodes/fetch/open-fetch';
import { printable, replaceUnprintable } from '@weir/base/printable';
import { commandOf, type CommandIo, optionLines, parserOf } from '../command.ts';
import { writeFiles } from '../write-files.ts';
import { chooseSocket } from '@weir/client';
import { FETCH, DEFAULT_SIZE, DEFAULT_SECONDS } from './specs.ts';
import { parseBytes, parseSeconds } from '../option-values.ts';

const FETCH_HELP = `weir fetch, which fetches a document through an outbound

Usage: weir fetch [options] URL

The body goes to standard output, decoded. At most 5 redirections are followed, none from https to
http; headers and user information of the URL do not go to other hosts. The exit status is 1 for
an error and for a status of 400 or more.

With --outbound the running Weir opens the connections, as far as one with that configuration is
found; otherwise this process does, from the file, without its inbounds and API.

Options:
${optionLines(FETCH.options)}`;

export const parseFetch = parserOf(FETCH, (values, [url = '']) => {
  const { head = false, include = false, outbound, config, socket, output } = values;
  if (outbound === undefined && (config !== undefined || socket !== undefined)) {
    throw new UsageError('--config and --socket go with --outbound');
  }
  const headers = Object.fromEntries((values.header ?? []).map(headerOf));
  if (values['user-agent'] !== undefined) headers['user-agent'] = values['user-agent'];
  return {
    url,
    outbound,
    config,
    socket,
    output,
    isHead: head,
    includesHead: include || head,
    headers,
    maxBytes: parseBytes('--max-size', values['max-size'] ?? DEFAULT_SIZE),
    timeoutMs: parseSeconds('--max-time', values['max-time'] ?? DEFAULT_SECONDS),
  };
});

type FetchArguments = NonNullable<ReturnType<typeof parseFetch>>;

/** Parses a header line. @throws {UsageError} which does not quote the text, since it may be a secret */
function headerOf(line: string): [name: string, value: string] {
  const colon = line.indexOf(':');
  if (colon <= 0) throw new UsageError("--header needs a line such as 'Accept: text/plain'");
  return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()];
}

/**
 * `weir fetch`. Resolves with the exit status: 1 for an error, and for a status of 400 or more.
 * @throws {UsageError}
 */
export const fetchCommand = commandOf(FETCH.name, FETCH_HELP, parseFetch, async (asked, io) => {
  const fetched = await fetchAsked(asked, io);
  await print(fetched, asked, io);
  if (fetched.status < 400) return 0;
  note(io, `${new URL(fetched.url).host}: the response has the status ${statusText(fetched)}`);
  return 1;
});

async function fetchAsked(asked: FetchArguments, io: CommandIo): Promise<FetchedDocument> {
  const { url, outbound, config, headers, maxBytes, timeoutMs, isHead } = asked;
  const { env } = io;
  const socket =
    outbound === undefined ? undefined : await chooseSocket({ socket: asked.socket, env }, config);
  await using opened = await openFetch({ outbound, config, socket });
  for (const text of opened.notes) note(io, text);
  const method = isHead ? 'HEAD' : 'GET';
  return await opened.fetch({ url, method, headers, maxBytes, timeoutMs });
}

async function print(
  fetched: FetchedDocument,
  { output, includesHead, isHead }: FetchArguments,
  { stdout }: CommandIo,
): Promise<void> {
  if (includesHead) stdout.write(headText(fetched));
  if (isHead) return;
  if (output !== undefined) {
    await writeFiles([{ path: output, text: fetched.body, secret: false }], true);
  } else if (stdout.isTTY === true) stdout.write(terminalText(fetched.body));
  else stdout.write(fetched.body);
}

const statusText = ({ status }: FetchedDocument): string =>
  `${status} ${STATUS_CODES[status] ?? ''}`.trim();

/** The head of a response, escaped for a terminal: values of headers are untrusted. */
function headText(fetched: FetchedDocument): string {
  const lines = [...fetched.headers].map(([name, value]) => `${name}: ${printable(value)}`);
  return [statusText(fetched), ...lines, '', ''].join('\n');
}

const TAB = 0x09;
const LINE_FEED = 0x0a;

/**
 * A body as text for a terminal, with control characters escaped.
 * @throws {WeirError} `binary` unless it is UTF-8 text
 */
function terminalText(body: Uint8Array): string {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw binary();
  }
  if (text.includes('\0')) throw binary();
  const safe = replaceUnprintable(text.replaceAll('\r\n', '\n'), (codePoint) =>
    codePoint === TAB || codePoint === LINE_FEED
      ? String.fromCodePoint(codePoint)
      : printable(String.fromCodePoint(codePoint)),
  );
  return safe === '' || safe.endsWith('\n') ? safe : `${safe}\n`;
}

const binary = (): WeirError =>
  new WeirError('binary', 'the body is not text, and is not written to a terminal', {
    hint: '--output FILE saves it',
  });

const note = ({ stderr }: CommandIo, text: string): void =>
  void stderr.write(`weir fetch: ${printable(text)}\n`);
