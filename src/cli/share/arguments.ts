import {
  expectOperands,
  HELP_OPTION,
  parseOptions,
  type CommandSpec,
  type OptionTable,
} from '../command.ts';
import { UsageError } from '../../errors.ts';
import { optionLines } from '../help.ts';
import { choiceOf, hostOf, portOf } from '../option-values.ts';
import { CONFIG_OPTION } from '../run/arguments.ts';

const SHARE_FORMS = ['link', 'sing-box', 'xray', 'clash', 'weir'] as const;

export type ShareForm = (typeof SHARE_FORMS)[number];

const QR_FORMS = ['terminal', 'svg'] as const;

export type QrForm = (typeof QR_FORMS)[number];

const OPTIONS = {
  config: { ...CONFIG_OPTION.config, summary: "the server's configuration" },
  host: {
    type: 'string',
    value: 'HOST',
    summary: 'the name or the address that clients dial',
  },
  inbound: { type: 'string', value: 'TAG', summary: 'only this inbound' },
  user: {
    type: 'string',
    value: 'NAME',
    summary:
      'only the user with this label, this number in the list, or\n' +
      'this start of a UUID (8 digits)',
  },
  form: {
    type: 'string',
    value: 'FORM',
    choices: SHARE_FORMS,
    summary:
      'link, which is the default; or the outbound of a program:\n' +
      'sing-box, xray, clash (mihomo) or weir',
  },
  qr: {
    type: 'string',
    value: 'HOW',
    choices: QR_FORMS,
    summary: 'links as QR codes: terminal for all, svg for one',
  },
  port: {
    type: 'string',
    value: 'PORT',
    summary: 'the port that clients dial, of a reverse proxy for example',
  },
  tls: { type: 'boolean', summary: 'a reverse proxy in front of it ends TLS' },
  sni: {
    type: 'string',
    value: 'NAME',
    summary: 'the name in the TLS handshake; otherwise one of the certificate',
  },
  insecure: {
    type: 'boolean',
    summary: 'clients accept any certificate where they would refuse this one',
  },
  output: {
    type: 'string',
    short: 'o',
    value: 'FILE',
    summary: 'write to FILE, for its owner alone',
  },
  force: { type: 'boolean', summary: 'replace FILE' },
  json: { type: 'boolean', summary: 'print one line of JSON' },
  ...HELP_OPTION,
} as const satisfies OptionTable;

export const SHARE = {
  name: 'share',
  operands: '',
  summary: "print share links for the users of a server's inbounds",
  options: OPTIONS,
} as const satisfies CommandSpec;

export const SHARE_HELP = `weir share, what the clients of a server need

Usage: weir share --host HOST --config FILE [options]

Options:
${optionLines(OPTIONS)}
Links have the users' secrets in them: whoever has a link has the account. Inbounds that clients
cannot reach, and certificates that they refuse, are noted on standard error. Nothing is dialled.
`;

export interface ShareArguments {
  readonly kind: 'share';
  readonly config: string;
  /** The host in the form of flows: an address, or a name in ASCII. */
  readonly host: string;
  readonly inbound: string | undefined;
  readonly user: string | undefined;
  readonly form: ShareForm;
  readonly qr: QrForm | undefined;
  readonly port: number | undefined;
  readonly tls: boolean;
  readonly sni: string | undefined;
  readonly insecure: boolean;
  readonly output: string | undefined;
  readonly force: boolean;
  readonly json: boolean;
}

/** Parses the arguments of `weir share`. @throws {UsageError} for invalid arguments */
export function parseShare(argv: readonly string[]): ShareArguments | { readonly kind: 'help' } {
  const { values, positionals } = parseOptions(argv, OPTIONS);
  if (values.help === true) return { kind: 'help' };
  expectOperands('share', positionals);
  const { config = '', inbound, user, output, force = false, json = false } = values;
  if (config === '') throw new UsageError('share needs --config FILE');
  if (values.host === undefined) {
    throw new UsageError('share needs --host HOST, the name or the address that clients dial');
  }
  if (output === '') throw new UsageError('--output needs the name of a file');
  if (force && output === undefined) throw new UsageError('--force goes with --output');
  const form = choiceOf('form', SHARE_FORMS, values.form ?? 'link');
  const qr = values.qr === undefined ? undefined : choiceOf('qr', QR_FORMS, values.qr);
  if (qr !== undefined && (json || form !== 'link')) {
    throw new UsageError(`--qr shows links: it does not go with --${json ? 'json' : 'form'}`);
  }
  return {
    kind: 'share',
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
}
