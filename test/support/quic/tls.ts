import { parseCaBundle } from '@weir/crypto/certificates';
import { QuicClientTls, QuicServerTls } from '../../../packages/proxy/src/transports/tls/quic.ts';
import { TestAuthority } from '../data/test-certificates.ts';

const authority = new TestAuthority();
const certificate = authority.issue({ dns: ['test.example'] });
const strange = new TestAuthority('another authority').issue({ dns: ['test.example'] });

/** The server's side, with a certificate that the client trusts, or one that it does not. */
export function testServerTls(isTrusted = true): QuicServerTls {
  const { cert, key } = isTrusted ? certificate : strange;
  return new QuicServerTls({ certificates: cert, key });
}

/** The client's side, for the server `test.example`. */
export function testClientTls(): QuicClientTls {
  const certificates = parseCaBundle(Buffer.from(authority.cert));
  return new QuicClientTls({
    serverName: 'test.example',
    allowInsecure: false,
    ca: { certificates, file: 'ca.pem' },
  });
}
