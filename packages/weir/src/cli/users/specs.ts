import type { ShareForm } from '@weir/nodes/share';
import { flag, option, HELP_OPTION, type CommandSpec, type OptionTable } from '../command.ts';
import { SOCKET_OPTION, TLS_OPTIONS } from '../running-options.ts';
import { CONFIG_OPTION } from '../run/command.ts';

/*
 * Names, operands and options of the commands for users.
 * Help, completions and the manual page are made of them without loading a command.
 */

export const RESETS = ['never', 'daily', 'weekly', 'monthly'] as const;

export const EDIT_OPTIONS = {
  ...SOCKET_OPTION,
  'dry-run': flag('check everything, and change nothing'),
} as const satisfies OptionTable;

export const SECRET_OPTIONS = {
  id: option('UUID', 'the id (vless, vmess) in place of a new one'),
  'password-file': option('FILE', 'the first line is the password, in place of a new one'),
  password: option('TEXT', 'the password itself, which other users of the machine can see'),
} as const satisfies OptionTable;

export const LINK_OPTIONS = {
  link: flag('print the share link of the user as well'),
  host: option('HOST', 'for --link: what clients dial'),
} as const satisfies OptionTable;

export const FORCE_OPTION = {
  force: flag('even if it changes who else can log in'),
} as const satisfies OptionTable;

export const CLOSE_OPTION = {
  close: flag('close the open flows of the user as well'),
} as const satisfies OptionTable;

export const LIMITS_OPTION = {
  limits: option('FILE', 'the limits file; that of the running Weir unless given'),
} as const satisfies OptionTable;

export const LIMIT_OPTIONS = {
  ...LIMITS_OPTION,
  limit: option('BYTES', 'what the user may use of a period: 100GB, 500MiB'),
  reset: option('PERIOD', 'of --limit, which never ends unless given', { choices: RESETS }),
  until: option('DATE', 'the last day of the user, in UTC: 2027-01-31'),
  devices: option('N', 'addresses that may use the account at a time'),
  up: option('RATE', 'from the user: 10Mbit/s, 1.25MB/s'),
  down: option('RATE', 'to the user'),
} as const satisfies OptionTable;

export const USER = {
  name: 'user',
  operands: 'COMMAND',
  summary: 'add, remove and list the users of inbounds',
  options: {
    config: { ...CONFIG_OPTION.config, summary: 'the configuration file' },
    inbound: option('TAG', 'the inbound; list shows all without it'),
    json: flag('print one line of JSON'),
    ...HELP_OPTION,
  },
  commands: [
    {
      name: 'add',
      operands: 'NAME',
      summary: 'add a user; prints its secret, which is made unless given',
      options: {
        ...EDIT_OPTIONS,
        ...SECRET_OPTIONS,
        ...LINK_OPTIONS,
        ...FORCE_OPTION,
        ...LIMIT_OPTIONS,
      },
    },
    {
      name: 'remove',
      operands: 'NAME',
      summary: 'remove a user, whose open flows go on unless closed',
      options: { ...EDIT_OPTIONS, ...CLOSE_OPTION, ...FORCE_OPTION, ...LIMITS_OPTION },
    },
    {
      name: 'rotate',
      operands: 'NAME',
      summary: 'give a user another secret',
      options: { ...EDIT_OPTIONS, ...SECRET_OPTIONS, ...LINK_OPTIONS, ...CLOSE_OPTION },
    },
    {
      name: 'list',
      operands: '',
      summary:
        'the users of the file, without secrets, with what the running Weir\nknows of their limits',
      options: SOCKET_OPTION,
    },
  ],
} as const satisfies CommandSpec;

/** Protocols for which `generate server` has a secure configuration. */
export const SERVER_PROTOCOLS = [
  'vless',
  'vmess',
  'trojan',
  'shadowsocks',
  'hysteria2',
  'http',
] as const;

export type ServerProtocol = (typeof SERVER_PROTOCOLS)[number];

export const LENGTH_OPTION = {
  length: option('N', 'characters, 24 unless given'),
} as const satisfies OptionTable;

export const FILE_OPTIONS = {
  output: option('FOLDER', 'write files into FOLDER', { short: 'o' }),
  force: flag('replace files that exist'),
} as const satisfies OptionTable;

export const DAYS_OPTION = {
  days: option('N', 'how long the certificate is valid, 825 unless given'),
} as const satisfies OptionTable;

export const SERVER_OPTIONS = {
  protocol: option('LIST', `with commas between: ${SERVER_PROTOCOLS.join(', ')}`),
  name: option('NAME', 'of the server, and of its files'),
  host: option(
    'HOST',
    'the name or the address that clients dial; without it the\n' +
      'server is a trial on 127.0.0.1',
  ),
  'port-base': option('PORT', 'this port and the following ones, not the usual ones'),
} as const satisfies OptionTable;

export const GENERATE = {
  name: 'generate',
  operands: 'WHAT',
  summary: 'make ids, passwords, keys, certificates, or files of a server',
  options: {
    json: flag('print one line of JSON'),
    ...HELP_OPTION,
  },
  commands: [
    { name: 'uuid', operands: '', summary: 'an id of VLESS and VMess', options: {} },
    {
      name: 'password',
      operands: '',
      summary: 'random letters and digits',
      options: LENGTH_OPTION,
    },
    {
      name: 'psk',
      operands: 'METHOD',
      summary: 'the key or the password of a Shadowsocks method',
      options: {},
    },
    {
      name: 'wireguard',
      operands: '',
      summary: 'a private key, its public key, and a preshared key',
      options: {},
    },
    {
      name: 'certificate',
      operands: 'NAME...',
      summary: 'a self-signed certificate for names and addresses, and its key',
      options: { ...DAYS_OPTION, ...FILE_OPTIONS },
    },
    {
      name: 'server',
      operands: '',
      summary: 'files of a server and of its client, with all secrets',
      options: { ...SERVER_OPTIONS, ...DAYS_OPTION, ...FILE_OPTIONS },
    },
  ],
} as const satisfies CommandSpec;

export const SHARE_FORMS = [
  'link',
  'sing-box',
  'xray',
  'clash',
  'weir',
] as const satisfies readonly ShareForm[];

export const QR_FORMS = ['terminal', 'svg'] as const;

export type QrForm = (typeof QR_FORMS)[number];

export const SHARE = {
  name: 'share',
  operands: '',
  summary: "print share links for the users of a server's inbounds",
  options: {
    config: { ...CONFIG_OPTION.config, summary: "the server's configuration" },
    host: option('HOST', 'the name or the address that clients dial'),
    inbound: option('TAG', 'only this inbound'),
    user: option(
      'NAME',
      'only the user with this label, this number in the list, or\n' +
        'this start of a UUID (8 digits)',
    ),
    form: option(
      'FORM',
      'link, which is the default; or the outbound of a program:\n' +
        'sing-box, xray, clash (mihomo) or weir',
      { choices: SHARE_FORMS },
    ),
    qr: option('HOW', 'links as QR codes: terminal for all, svg for one', { choices: QR_FORMS }),
    port: option('PORT', 'the port that clients dial, of a reverse proxy for example'),
    tls: flag('a reverse proxy in front of it ends TLS'),
    sni: option('NAME', 'the name in the TLS handshake; otherwise one of the certificate'),
    insecure: flag('clients accept any certificate where they would refuse this one'),
    output: option('FILE', 'write to FILE, for its owner alone', { short: 'o' }),
    force: flag('replace FILE'),
    json: flag('print one line of JSON'),
    ...HELP_OPTION,
  },
} as const satisfies CommandSpec;

export const LINKS = {
  name: 'links',
  operands: 'COMMAND',
  summary: 'give each user a URL from which clients get their servers',
  options: {
    config: { ...CONFIG_OPTION.config, summary: "the server's configuration" },
    tokens: option(
      'FILE',
      'where the tokens of links are kept (default: NAME.links.json beside the\n' +
        'configuration, /var/lib/weir/links.json for one below /etc)',
    ),
    url: option(
      'URL',
      'the address below which users have their links, of a reverse proxy for\n' +
        'example; of the server itself, or of the last weir links serve, unless given',
    ),
    ...HELP_OPTION,
  },
  commands: [
    {
      name: 'serve',
      operands: '',
      summary: 'serve them until a signal stops it',
      options: {
        host: option('HOST', 'the name or the address that clients dial'),
        listen: option(
          'HOST:PORT',
          'where to listen: an address of this host (default: 127.0.0.1:19348),\n' +
            'the path of a unix socket, or with TLS any address',
        ),
        'tls-certificate': option(
          'FILE',
          'a chain of certificates in PEM; read again when it changes',
        ),
        'tls-key': TLS_OPTIONS['tls-key'],
        'trusted-proxy': option(
          'NETWORK',
          'a reverse proxy, or several as a network, whose X-Forwarded-For\n' +
            'counts; may be given several times',
          { multiple: true },
        ),
        front: option(
          'TAG=PORT',
          'this inbound is behind a reverse proxy that ends TLS on PORT; may be\n' +
            'given several times',
          { multiple: true },
        ),
        sni: option('NAME', 'the name in the TLS handshake; otherwise one of the certificate'),
        title: option('TEXT', 'the name of the profile in clients; HOST unless given'),
        interval: option('HOURS', 'how often clients update, 12 unless given'),
        database: option(
          'FILE',
          'the database of weir usage record: for users without limits, clients\n' +
            'show what this month has in it',
        ),
        ...SOCKET_OPTION,
      },
    },
    {
      name: 'list',
      operands: '',
      summary: 'the links of all users',
      options: { json: flag('print one line of JSON') },
    },
    {
      name: 'show',
      operands: 'NAME',
      summary: 'the link of one user',
      options: { qr: flag('as a QR code for the terminal as well') },
    },
    {
      name: 'rotate',
      operands: 'NAME',
      summary: 'give a user a new link; the one before is dead at once',
      options: {},
    },
  ],
} as const satisfies CommandSpec;
