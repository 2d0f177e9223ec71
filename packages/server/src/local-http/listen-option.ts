import { X509Certificate } from 'node:crypto';
import { resolve as resolvePath } from 'node:path';
import { createSecureContext } from 'node:tls';
import { UsageError, WeirError, messageOf } from '@weir/base';
import { ipVersion, isLoopbackHost } from '@weir/base/ip';
import { fileReason, openRegularFile } from '@weir/io/files';

/** The place where a local server listens. */
export type LocalListen =
  /** `tls` is present whenever other hosts can connect. */
  | {
      readonly kind: 'tcp';
      readonly host: string;
      /** 0 for a port that the kernel chooses. */
      readonly port: number;
      readonly tls: LocalTls | undefined;
    }
  | { readonly kind: 'unix'; readonly path: string };

export interface LocalTls {
  /** The certificate chain, in PEM. */
  readonly certificate: Buffer;
  readonly key: Buffer;
  /** The leaf certificate, which names the hosts that requests may be for. */
  readonly names: X509Certificate;
}

/** Values of `--listen`, `--tls-certificate` and `--tls-key`. */
export interface ListenText {
  readonly listen?: string | undefined;
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
}

const ADDRESS = /^(?<host>localhost|[\d.]+|\[[^\]]+\]):(?<port>\d{1,5})$/i;
const MAX_PORT = 0xffff;
/** Maximum bytes of a PEM file; a chain has some ten thousand. */
const MAX_PEM = 1 << 20;

/**
 * Parses `--listen`: `HOST:PORT` with an address, or the path of a unix socket. Without TLS only this host may connect.
 *
 * @param standard the default for `--listen`
 * @throws {UsageError} for any other text
 * @throws {WeirError} for unusable TLS files
 */
export async function parseLocalListen(
  { listen, certificate, key }: ListenText,
  standard: string,
): Promise<LocalListen> {
  if ((certificate === undefined) !== (key === undefined)) {
    throw new UsageError('--tls-certificate and --tls-key go together');
  }
  const text = listen ?? standard;
  const hasTls = certificate !== undefined && key !== undefined;
  const path = unixPath(text);
  if (path !== undefined) {
    if (hasTls) throw new UsageError('a unix socket takes no --tls-certificate');
    return { kind: 'unix', path };
  }
  const { host, port } = parseTcp(text);
  if (hasTls) return { kind: 'tcp', host, port, tls: await readTls(certificate, key) };
  if (!isLoopbackHost(host)) {
    throw new UsageError(
      `--listen ${text}: other hosts could connect, and read what is sent without encryption; ` +
        'listen on 127.0.0.1 or a unix socket, or add --tls-certificate FILE and --tls-key FILE',
    );
  }
  return { kind: 'tcp', host, port, tls: undefined };
}

function unixPath(text: string): string | undefined {
  const path = text.startsWith('unix:') ? text.slice('unix:'.length) : text;
  if (path === text && !text.includes('/')) return undefined;
  if (path === '' || path.includes('\0')) throw invalid(text);
  return resolvePath(path);
}

function parseTcp(text: string): { readonly host: string; readonly port: number } {
  const { host = '', port = '' } = ADDRESS.exec(text)?.groups ?? {};
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  const version = ipVersion(bare);
  const valid = host.toLowerCase() === 'localhost' || version === (host.startsWith('[') ? 6 : 4);
  if (!valid || Number(port) > MAX_PORT) throw invalid(text);
  // /etc/hosts may give the name an address on any interface.
  return { host: version === 0 ? '127.0.0.1' : bare, port: Number(port) };
}

const invalid = (text: string): UsageError =>
  new UsageError(
    `--listen ${JSON.stringify(text)}: expected ADDRESS:PORT such as 127.0.0.1:8080 or [::1]:0, ` +
      'or the path of a unix socket, which has a /',
  );

/**
 * Reads the files of `--tls-certificate` and `--tls-key`.
 * @throws {WeirError} for unusable ones
 */
export async function readTls(certificateFile: string, keyFile: string): Promise<LocalTls> {
  const certificate = await readPem('--tls-certificate', certificateFile);
  const key = await readPem('--tls-key', keyFile);
  try {
    createSecureContext({ cert: certificate, key });
    return { certificate, key, names: new X509Certificate(certificate) };
  } catch (error) {
    throw new WeirError(
      'tls',
      `--tls-certificate ${certificateFile} with --tls-key ${keyFile}: ${messageOf(error)}`,
      { cause: error, hint: 'both are in PEM, the key without a passphrase' },
    );
  }
}

async function readPem(option: string, path: string): Promise<Buffer> {
  try {
    await using file = await openRegularFile(path);
    const { size } = await file.stat();
    if (size > MAX_PEM) throw new WeirError('too_long', `is longer than ${MAX_PEM} bytes`);
    return await file.readFile();
  } catch (error) {
    throw new WeirError('tls', `${option} ${path}: ${fileReason(error)}`, { cause: error });
  }
}
