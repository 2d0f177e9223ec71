import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { basicConstraints, signCertificate, subjectAltName } from '@weir/crypto/self-signed';

/** A certificate and its key as PEM text, as `node:tls` takes them. */
export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
}

export interface TestCertificateOptions {
  readonly dns?: readonly string[];
  readonly ip?: readonly string[];
  readonly expired?: boolean;
  /** An RSA key in place of one on P-256. */
  readonly rsa?: boolean;
}

/** A certificate authority that lives for one test: nothing has to be on disk or to be renewed. */
export class TestAuthority {
  readonly cert: string;
  readonly #name: string;
  readonly #key: KeyObject;

  /** @param above the authority that certifies this one; none for a root. */
  constructor(name = 'Weir test authority', above?: TestAuthority) {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#name = name;
    this.#key = privateKey;
    this.cert = (above ?? this).#sign(name, publicKey, [basicConstraints(true)], false);
  }

  /** An authority between this one, which stays its root, and the servers. */
  subordinate(name = 'Weir test issuing authority'): TestAuthority {
    return new TestAuthority(name, this);
  }

  /** A certificate for a server with these names. */
  issue(options: TestCertificateOptions): TestCertificate {
    const { dns = [], ip = [], expired = false, rsa = false } = options;
    const { privateKey, publicKey } = rsa
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
    return {
      cert: this.#sign('server', publicKey, [subjectAltName([...dns, ...ip])], expired),
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    };
  }

  #sign(
    subject: string,
    publicKey: KeyObject,
    extensions: readonly Buffer[],
    expired: boolean,
  ): string {
    return signCertificate(
      {
        serial: Buffer.of(1, ++serial),
        issuer: this.#name,
        subject,
        validFrom: Date.UTC(2020, 0, 1),
        validTo: expired ? Date.UTC(2021, 0, 1) : Date.UTC(2049, 11, 31),
        publicKey,
        extensions,
      },
      this.#key,
    );
  }
}

let serial = 0;
