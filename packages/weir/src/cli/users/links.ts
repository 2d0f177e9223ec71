import { basename, dirname, extname, join, resolve } from 'node:path';
import { type Cidr, parseCidr } from '@weir/base/ip';
import { ConfigError, renderConfigError } from '@weir/config';
import { formatEndpoint } from '@weir/io/addresses';
import { systemClock } from '@weir/io/time';
import { isLocal, qrForTerminal, qrModules, shareOptions, unknownName } from '@weir/nodes/share';
import {
  defectText,
  type LocalListen,
  type LocalServer,
  parseLocalListen,
  readTls,
} from '@weir/server/local-http';
import {
  changeLinks,
  FileStamps,
  LinkUsers,
  type Reach,
  readConfigUsers,
  RecordedUsage,
  RunningQuotas,
  STANDARD_LISTEN,
  startLinksServer,
  withToken,
  withUsers,
} from '@weir/watch/links';
import { UsageError, WeirError } from '@weir/base';
import { printable, printableJson, printableLines } from '@weir/base/printable';
import { textTable } from '@weir/base/tables';
import { counted, day } from '@weir/base/text/amounts';
import {
  commandLines,
  commandOf,
  type CommandIo,
  optionLines,
  subcommandOptionLines,
  subcommandParser,
  type SubcommandValues,
  untilStopped,
} from '../command.ts';
import { hostOf, parseCount, portOf } from '../option-values.ts';
import { LINKS } from './specs.ts';

const LINKS_HELP = `weir links, a URL for each user from which clients get their servers

Usage: weir links serve --host HOST --config FILE [options]
       weir links list --config FILE [--url URL] [--json]
       weir links show|rotate NAME --config FILE [--url URL]

Commands:
${commandLines(LINKS.commands)}
Options:
${optionLines(LINKS.options)}
${subcommandOptionLines(LINKS.commands)}A link has a random token, and gives the servers of its user in the form that a program reads by its
User-Agent; a browser gets a page. Whoever has a link has the account. It is dead when the user is
removed from the configuration. Other hosts reach the server with TLS, or through a reverse proxy.
`;

const STANDARD_HOURS = '12';
/** A month, as `weir subscribe` reads at most. */
const MOST_HOURS = 31 * 24;

const parseLinks = subcommandParser(LINKS, (kind, values, [name = '']) => {
  const { config } = values;
  if (config === undefined) throw new UsageError(`links ${kind} needs --config FILE`);
  const common = {
    config,
    tokens: values.tokens ?? tokensFor(resolve(config)),
    url: values.url === undefined ? undefined : baseOf(values.url),
  };
  switch (kind) {
    case 'serve':
      return { kind, ...common, ...servingOf(values) };
    case 'list':
      return { kind, ...common, json: values.json ?? false };
    case 'show':
      return { kind, ...common, name, qr: values.qr ?? false };
    case 'rotate':
      return { kind, ...common, name };
    default:
      return kind satisfies never;
  }
});

type LinksCommand = NonNullable<ReturnType<typeof parseLinks>>;
type Serve = Extract<LinksCommand, { readonly kind: 'serve' }>;
type ListLinks = Exclude<LinksCommand, Serve>;

type Values = SubcommandValues<typeof LINKS>;

/** The default file of tokens of a configuration; a service cannot write below /etc. */
const tokensFor = (config: string): string =>
  config.startsWith('/etc/')
    ? '/var/lib/weir/links.json'
    : join(dirname(config), `${basename(config, extname(config))}.links.json`);

function servingOf(values: Values) {
  if (values.host === undefined) {
    throw new UsageError(
      'links serve needs --host HOST, the name or the address that clients dial',
    );
  }
  const host = hostOf('--host', values.host);
  const { title = host, interval = STANDARD_HOURS } = values;
  if (title.trim() === '' || title !== printable(title)) {
    throw new UsageError('--title needs a text without control characters');
  }
  return {
    host,
    listen: {
      listen: values.listen,
      certificate: values['tls-certificate'],
      key: values['tls-key'],
    },
    trusted: (values['trusted-proxy'] ?? []).map(networkOf),
    fronts: new Map((values.front ?? []).map(frontOf)),
    sni: values.sni === undefined ? undefined : hostOf('--sni', values.sni),
    title,
    interval: parseCount('--interval', interval, MOST_HOURS),
    socket: values.socket,
    database: values.database,
  };
}

/** Parses `--url` to a base with a final slash. @throws {UsageError} */
function baseOf(text: string): string {
  const url = URL.parse(text);
  const isPlain = url?.search === '' && url.hash === '' && url.username === '';
  if (!url || !isPlain || !['http:', 'https:'].includes(url.protocol)) {
    throw new UsageError(
      `--url ${JSON.stringify(text)}: expected an address such as https://proxy.example.com/links/`,
    );
  }
  if (url.protocol === 'http:' && !isLocal(url.hostname.replace(/^\[(.*)\]$/, '$1'))) {
    throw new UsageError(
      `--url ${text}: everyone on the path could read the links and what they give; use https`,
    );
  }
  return url.href.endsWith('/') ? url.href : `${url.href}/`;
}

function networkOf(text: string): Cidr {
  const network = parseCidr(text);
  if ('problem' in network) {
    throw new UsageError(`--trusted-proxy ${JSON.stringify(text)}: ${network.problem}`);
  }
  return network;
}

function frontOf(text: string): readonly [tag: string, port: number] {
  const equals = text.lastIndexOf('=');
  if (equals <= 0) throw new UsageError(`--front needs TAG=PORT, not ${JSON.stringify(text)}`);
  return [text.slice(0, equals), portOf('front', text.slice(equals + 1))];
}

/**
 * `weir links`. Resolves with the exit status.
 * @throws {UsageError}
 */
export const linksCommand = commandOf('links', LINKS_HELP, parseLinks, async (asked, io) => {
  if (asked.kind === 'serve') await serve(asked, io);
  else await list(asked, io);
  return 0;
});

/** Milliseconds between two looks at the files, for what no request waits for: a new certificate, lost users. */
const LOOK_MS = 10_000;

async function serve(asked: Serve, io: CommandIo): Promise<void> {
  const { config, tokens, host, socket, title, interval, trusted, database } = asked;
  const note = (text: string): void =>
    void io.stderr.write(`weir links: ${printableLines(text)}\n`);
  const listen = await parseLocalListen(asked.listen, STANDARD_LISTEN);
  if (listen.kind === 'unix' && asked.url === undefined) {
    throw new UsageError(
      'a server on a unix socket needs --url URL, the address of its reverse proxy',
    );
  }
  const users = await inConfig(() =>
    LinkUsers.open({ config, tokens, reach: () => reachOf(asked), note, now: Date.now }),
  );
  const now = (): number => systemClock.now();
  const quotas = new RunningQuotas({ config, socket, env: io.env, now });
  using recorded =
    database === undefined ? undefined : new RecordedUsage({ database, note, now: Date.now });
  await using links = await startLinksServer({
    listen,
    users,
    base: (port) => asked.url ?? ownBase(listen, host, port),
    title,
    interval,
    quota: async (user) => (await quotas.read(user)) ?? recorded?.read(user),
    trusted,
    onDefect: (error) => note(defectText(error)),
    now,
  });
  await changeLinks(tokens, (stored) =>
    stored.base === links.base ? stored : { ...stored, base: links.base },
  );
  io.stdout.write(
    `links of ${counted(users.size, 'user')} on ${printable(links.server.url ?? links.server.address)}, below ${printable(links.base)}\n`,
  );
  using _look = await lookAgain(asked, users, links.server, note);
  await untilStopped();
}

/** Looks at the files from time to time, and renews the certificate of the server when its files have changed. */
async function lookAgain(
  asked: Serve,
  users: LinkUsers,
  server: LocalServer,
  note: (text: string) => void,
): Promise<Disposable> {
  const certificates = new FileStamps();
  const files = [asked.listen.certificate, asked.listen.key].filter((file) => file !== undefined);
  await certificates.changed(files);
  const look = async (): Promise<void> => {
    await users.refresh();
    const [certificate, key] = files;
    if (certificate === undefined || key === undefined) return;
    if (await certificates.changed(files)) server.renewTls(await readTls(certificate, key));
  };
  const timer = setInterval(() => {
    look().catch((error: unknown) => {
      note(error instanceof WeirError ? error.message : defectText(error));
    });
  }, LOOK_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** How clients reach the inbounds, with the authorities that this machine trusts now. */
function reachOf({ host, fronts, sni }: Serve): Reach {
  const options = shareOptions(host, { serverName: sni });
  return (inbound) => {
    const port = fronts.get(inbound);
    return { ...options, port, frontTls: port !== undefined };
  };
}

/** The address of a server that clients reach without a reverse proxy. */
function ownBase(listen: LocalListen, host: string, port: number | undefined): string {
  if (listen.kind === 'unix' || port === undefined) throw new RangeError('it has --url');
  return listen.tls
    ? new URL(`https://${formatEndpoint({ host, port })}/`).href
    : `http://${formatEndpoint({ host: listen.host, port })}/`;
}

async function list(asked: ListLinks, { stdout }: CommandIo): Promise<void> {
  const { config, tokens, url } = asked;
  const { users } = await inConfig(() => readConfigUsers(config));
  if (asked.kind !== 'list' && !users.has(asked.name))
    throw unknownName('user', asked.name, users.keys());
  const now = Date.now();
  const links = await changeLinks(tokens, (stored) =>
    asked.kind === 'rotate'
      ? withToken(stored, asked.name, now)
      : withUsers(stored, asked.kind === 'show' ? [asked.name] : users.keys(), now),
  );
  const base = url ?? links.base;
  if (base === undefined) {
    throw new WeirError('links', 'the address of the links is not known', {
      hint: 'weir links serve writes it into the file of tokens; --url URL names it',
    });
  }
  const urlOf = (user: string): string => base + (links.tokens.get(user)?.token ?? '');
  if (asked.kind !== 'list') {
    const shown = urlOf(asked.name);
    const code = asked.kind === 'show' && asked.qr ? qrForTerminal(qrModules(shown)) : '';
    stdout.write(`${printable(shown)}\n${code}`);
    return;
  }
  const rows = Array.from(users.keys(), (user) => ({
    user,
    url: urlOf(user),
    created: links.tokens.get(user)?.created ?? now,
  }));
  stdout.write(
    asked.json
      ? `${printableJson(rows)}\n`
      : textTable(
          ['user', 'since', 'link'],
          rows.map((row) => [row.user, day(row.created), row.url]),
        ),
  );
}

/** Reads the configuration of a command. @throws {WeirError} with the place of an error in it */
async function inConfig<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new WeirError('config', renderConfigError(error), { cause: error });
  }
}
