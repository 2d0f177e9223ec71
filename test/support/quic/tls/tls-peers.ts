import assert from 'node:assert/strict';
import {
  QuicClientTls,
  QuicServerTls,
  type QuicClientChoices,
} from '../../../../packages/proxy/src/transports/tls/quic.ts';
import { type QuicTlsChoices, type QuicTlsLibrary, quicTls } from '@weir/io/quic-tls';
import { parseCaBundle } from '@weir/crypto/certificates';
import type { TlsEvents, TlsHandshake, TlsLevel } from '../../../../packages/quic/src/contract.ts';
import { TestAuthority, type TestCertificate } from '../../data/test-certificates.ts';

export const authority = new TestAuthority();
export const named = authority.issue({ dns: ['test.example', '*.wild.example'] });

/** Handlers for a handshake of which nothing is expected. */
export const SILENT: TlsEvents = {
  onCryptoData: () => undefined,
  onSecret: () => undefined,
  onPeerParameters: () => undefined,
  onAlert: () => undefined,
  onViolation: () => undefined,
  onComplete: () => undefined,
};

/** CRYPTO data on its way. */
export interface Message {
  readonly level: TlsLevel;
  readonly bytes: Uint8Array;
}

/** One side of a handshake that notes everything that is reported. */
export class Role implements Disposable {
  readonly tls: TlsHandshake;
  readonly events: string[] = [];
  readonly secrets = new Map<string, string>();
  readonly out: Message[] = [];
  /** All CRYPTO data so far. */
  readonly sent: Message[] = [];
  peerParameters: string | undefined;
  cipherSuite = 0;
  alert: number | undefined;
  violation: string | undefined;

  constructor(make: (events: TlsEvents) => TlsHandshake, before: Partial<TlsEvents> = {}) {
    this.tls = make({
      onCryptoData: (level, bytes) => {
        this.events.push(`data ${level}`);
        this.out.push({ level, bytes });
        this.sent.push({ level, bytes });
        before.onCryptoData?.(level, bytes);
      },
      onSecret: (level, direction, cipherSuite, secret) => {
        this.events.push(`secret ${level} ${direction}`);
        this.secrets.set(`${level} ${direction}`, Buffer.from(secret).toString('hex'));
        this.cipherSuite = cipherSuite;
        before.onSecret?.(level, direction, cipherSuite, secret);
      },
      onPeerParameters: (bytes) => {
        this.events.push('parameters');
        this.peerParameters = Buffer.from(bytes).toString('hex');
        before.onPeerParameters?.(bytes);
      },
      onAlert: (code) => {
        this.events.push('alert');
        this.alert = code;
        before.onAlert?.(code);
      },
      onViolation: (reason) => {
        this.events.push('violation');
        this.violation = reason;
        before.onViolation?.(reason);
      },
      onComplete: () => {
        this.events.push('complete');
        before.onComplete?.();
      },
    });
  }

  /** The data sent at the first level. */
  firstBytes(): Buffer {
    return Buffer.concat(
      this.sent.filter(({ level }) => level === 'initial').map(({ bytes }) => bytes),
    );
  }

  [Symbol.dispose](): void {
    this.tls[Symbol.dispose]();
  }
}

export interface ClientOptions extends QuicClientChoices {
  readonly serverName?: string;
  readonly allowInsecure?: boolean;
  /** PEM, beside the system's; the test authority unless said otherwise. */
  readonly ca?: string;
}

export function clientTls(options: ClientOptions = {}): QuicClientTls {
  const { serverName = 'test.example', allowInsecure = false, ca = authority.cert } = options;
  const certificates = parseCaBundle(Buffer.from(ca));
  const bundle = { certificates, file: 'ca.pem' };
  return new QuicClientTls(
    { serverName, allowInsecure, ca: allowInsecure ? undefined : bundle },
    options,
  );
}

export function serverTls(
  { cert, key }: TestCertificate = named,
  choices: QuicTlsChoices = {},
): QuicServerTls {
  return new QuicServerTls({ certificates: cert, key }, choices);
}

export const CLIENT_PARAMETERS = '0104800075300f00';
export const SERVER_PARAMETERS = '0f0401020304';

export function clientSide(tls: QuicClientTls, before?: Partial<TlsEvents>): Role {
  const side = new Role((events) => tls.createHandshake(events), before);
  side.tls.setTransportParameters(Buffer.from(CLIENT_PARAMETERS, 'hex'));
  return side;
}

export function serverSide(tls: QuicServerTls, before?: Partial<TlsEvents>): Role {
  const side = new Role((events) => tls.createHandshake(events), before);
  side.tls.setTransportParameters(Buffer.from(SERVER_PARAMETERS, 'hex'));
  return side;
}

/** Carries what one side has made to the other, in pieces of at most `size` bytes. */
export function carry(from: Role, to: Role, size = Infinity): boolean {
  const messages = from.out.splice(0);
  for (const { level, bytes } of messages) {
    for (let at = 0; at < bytes.length; at += size) {
      to.tls.receive(level, bytes.subarray(at, Math.min(bytes.length, at + size)));
    }
  }
  return messages.length > 0;
}

/** Starts the client, and carries until neither side has anything to say. */
export function converse(client: Role, server: Role, size = Infinity): void {
  client.tls.start();
  let moved = true;
  while (moved) {
    moved = carry(client, server, size);
    moved = carry(server, client, size) || moved;
  }
}

/** A handshake from start to end. */
export function shake(
  client: ClientOptions,
  certificate: TestCertificate = named,
  choices: QuicTlsChoices = {},
): { client: Role; server: Role } & Disposable {
  using ours = clientTls(client);
  using theirs = serverTls(certificate, choices);
  const sides = { client: clientSide(ours), server: serverSide(theirs) };
  converse(sides.client, sides.server);
  return {
    ...sides,
    [Symbol.dispose]: () => {
      sides.client[Symbol.dispose]();
      sides.server[Symbol.dispose]();
    },
  };
}

/** The TLS library of this process; a failure without one. */
export function libraryOfProcess(): QuicTlsLibrary {
  const probe = quicTls();
  assert.ok(probe.kind === 'available');
  return probe.library;
}
