import { STATUS_CODES } from 'node:http';
import { WeirError } from '../../errors.ts';
import type { FetchedDocument } from '../../fetch/contract.ts';
import { openFetch } from '../../fetch/open-fetch.ts';
import { printable, replaceUnprintable } from '../../printable.ts';
import { reportErrors, type CommandIo } from '../command.ts';
import { writeFiles } from '../write-files.ts';
import { chooseSocket } from '../../client/choose-socket.ts';
import { FETCH, FETCH_HELP, parseFetch, type FetchArguments } from './arguments.ts';

/**
 * `weir fetch`. Resolves with the exit status: 1 for an error, and for a status of 400 or more.
 * @throws {UsageError}
 */
export async function fetchCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const asked = parseFetch(argv);
  if (asked.help) {
    io.stdout.write(FETCH_HELP);
    return 0;
  }
  return reportErrors(FETCH.name, io, async () => {
    const fetched = await fetchAsked(asked, io);
    await print(fetched, asked, io);
    if (fetched.status < 400) return 0;
    note(io, `${new URL(fetched.url).host}: the response has the status ${statusText(fetched)}`);
    return 1;
  });
}

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
