import { loadForms } from '@weir/proxy/protocols';
import { FileDigests } from '@weir/server/app/loading/file-digests';
import { loadConfigFile } from '@weir/server/loading';
import { listUsers, type WrittenUser } from '@weir/config/edit';
import type { LoadedConfig } from '@weir/config/load';
import { decodeSource } from '@weir/config/documents';
import { printable, quoted } from '@weir/base/printable';
import { adviceOn, configServers, type Shared, shareOptions, unknownName } from '@weir/nodes/share';
import { ShareError } from '@weir/proxy/protocols/forms';
import { commandOf, type CommandIo, optionLines, parserOf } from '../command.ts';
import { loadOrReport } from '../load.ts';
import { writeFiles } from '../write-files.ts';
import { sharedText } from './share-forms.ts';
import { UsageError } from '@weir/base';
import { choiceOf, hostOf, portOf } from '../option-values.ts';
import { SHARE, SHARE_FORMS, QR_FORMS } from './specs.ts';

const SHARE_HELP = `weir share, what the clients of a server need

Usage: weir share --host HOST --config FILE [options]

Options:
${optionLines(SHARE.options)}
Links have the users' secrets in them: whoever has a link has the account. Inbounds that clients
cannot reach, and certificates that they refuse, are noted on standard error. Nothing is dialled.
`;

const parseShare = parserOf(SHARE, (values) => {
  const { config, inbound, user, output, force = false, json = false } = values;
  if (config === undefined) throw new UsageError('share needs --config FILE');
  if (values.host === undefined) {
    throw new UsageError('share needs --host HOST, the name or the address that clients dial');
  }
  if (force && output === undefined) throw new UsageError('--force goes with --output');
  const form = choiceOf('form', SHARE_FORMS, values.form ?? 'link');
  const qr = values.qr === undefined ? undefined : choiceOf('qr', QR_FORMS, values.qr);
  if (qr !== undefined && (json || form !== 'link')) {
    throw new UsageError(`--qr shows links: it does not go with --${json ? 'json' : 'form'}`);
  }
  return {
    config,
    host: hostOf('--host', values.host),
    inbound,
    user,
    form,
    qr,
    port: values.port === undefined ? undefined : portOf('port', values.port),
    tls: values.tls ?? false,
    sni: values.sni === undefined ? undefined : hostOf('--sni', values.sni),
    insecure: values.insecure ?? false,
    output,
    force,
    json,
  };
});

type ShareArguments = NonNullable<ReturnType<typeof parseShare>>;

/**
 * `weir share`: prints the settings with which clients reach a configuration's inbounds. Resolves with the exit status:
 * 1 for an invalid configuration, and when there is nothing to share.
 * @throws {UsageError}
 */
export const shareCommand = commandOf(SHARE.name, SHARE_HELP, parseShare, async (asked, io) => {
  const status = await loadOrReport(asked.config, async (path, input) => {
    await loadForms();
    const loaded = await loadConfigFile(path, input);
    const bytes = input.bytes ?? (await new FileDigests().read(asked.config));
    const users = listUsers(decodeSource(bytes, path));
    await share(asked, { loaded, users }, io);
    return 0;
  });
  return status ?? 1;
});

/** A loaded configuration, with the data that its Spec lacks. */
interface Server {
  readonly loaded: LoadedConfig;
  /** Users, with the names from comments. */
  readonly users: readonly WrittenUser[];
}

async function share(
  asked: ShareArguments,
  server: Server,
  { stdout, stderr }: CommandIo,
): Promise<void> {
  const note = (text: string): void => void stderr.write(`weir share: ${printable(text)}\n`);
  const { servers, refusals } = serversOf(asked, server, note);
  const shared = ofUser(asked, servers);
  noteRefusals(refusals, new Set(shared.map(({ inbound }) => inbound)), note);
  const text = sharedText(shared, asked, note);
  if (asked.output === undefined) stdout.write(text);
  else await writeFiles([{ path: asked.output, text, secret: true }], asked.force);
}

/** Notes about certificates, with the tags of the inbounds, which often share one. */
type Refusals = ReadonlyMap<string, readonly string[]>;

/** Writes notes about rejected certificates of inbounds that are shared. */
function noteRefusals(
  refusals: Refusals,
  shared: ReadonlySet<string>,
  note: (text: string) => void,
): void {
  for (const [text, tags] of refusals) {
    const mine = tags.filter((tag) => shared.has(tag)).map((tag) => quoted(tag));
    if (mine.length > 0) note(`inbound ${mine.join(', ')}: ${text}`);
  }
}

/** The servers of the requested inbounds; `note` is called for each that is left out. */
function serversOf(
  asked: ShareArguments,
  { loaded, users }: Server,
  note: (text: string) => void,
): { readonly servers: readonly Shared[]; readonly refusals: Refusals } {
  const { inbound: wanted, host, port, tls, sni, insecure } = asked;
  const tags = loaded.spec.inbounds.map((inbound) => inbound.tag);
  if (wanted !== undefined && !tags.includes(wanted)) throw unknownName('inbound', wanted, tags);
  const options = shareOptions(host, { port, frontTls: tls, serverName: sni, insecure });
  const { servers, leftOut, refused } = configServers(loaded, users, (tag) =>
    wanted === undefined || tag === wanted ? options : undefined,
  );
  for (const { inbound, error } of leftOut) {
    note(`inbound ${quoted(inbound)} was left out: ${error.message}`);
  }
  if (servers.length === 0) throw new ShareError('there is nothing to share');
  const refusals = new Map<string, readonly string[]>();
  for (const { inbound, protocol, certificate } of refused) {
    const text = adviceOn(certificate, asked, protocol);
    refusals.set(text, [...(refusals.get(text) ?? []), inbound]);
  }
  return { servers, refusals };
}

/** The servers of the requested user. @throws {ShareError} for a user that no inbound has */
function ofUser({ user }: ShareArguments, shared: readonly Shared[]): readonly Shared[] {
  if (user === undefined) return shared;
  const found = shared.filter((each) => each.user === user || each.aliases.includes(user));
  if (found.length > 0) return found;
  const names = new Set(shared.flatMap((each) => (each.user === undefined ? [] : [each.user])));
  throw unknownName('user', user, [...names]);
}
