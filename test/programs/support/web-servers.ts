import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startPeer, type Peer } from '../../support/programs/peers.ts';
import { certificate, SERVER_NAME, type CertificateFiles } from '../../support/ways/certificate.ts';

/** nginx with its defaults but the versions, over HTTP/1 and TLS; by default with the certificate of the tests. */
export const startNginx = (
  { certFile, keyFile }: CertificateFiles = certificate(),
): Promise<Peer> =>
  startPeer('nginx', 1, async ([port], folder) => {
    const file = join(folder, 'nginx.conf');
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((name) => `${name}_temp_path ${folder}/${name};`)
      .join(' ');
    const lines = [
      `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/errors;`,
      `events {} http { access_log off; ${temporary} ssl_protocols TLSv1.2 TLSv1.3;`,
      `server { listen 127.0.0.1:${port} ssl; root ${folder};`,
      `ssl_certificate ${certFile}; ssl_certificate_key ${keyFile}; } }`,
    ];
    await writeFile(file, `${lines.join('\n')}\n`);
    return ['-c', file, '-p', folder];
  });

/** Caddy with the page of a server without pages, over HTTP/3 too. */
export const startCaddy = (): Promise<Peer> =>
  startPeer('caddy', 1, async ([port], folder) => {
    const { certFile, keyFile } = certificate();
    const respond = {
      handler: 'static_response',
      status_code: 404,
      headers: {
        'Content-Type': ['text/plain; charset=utf-8'],
        'X-Content-Type-Options': ['nosniff'],
      },
      body: '404 page not found\n',
    };
    const server = {
      listen: [`127.0.0.1:${port}`],
      protocols: ['h1', 'h2', 'h3'],
      automatic_https: { disable: true },
      tls_connection_policies: [{ default_sni: SERVER_NAME }],
      routes: [{ handle: [respond] }],
    };
    const config = {
      admin: { disabled: true },
      storage: { module: 'file_system', root: folder },
      apps: {
        http: { servers: { only: server } },
        tls: { certificates: { load_files: [{ certificate: certFile, key: keyFile }] } },
      },
    };
    const file = join(folder, 'caddy.json');
    await writeFile(file, JSON.stringify(config));
    return ['run', '--config', file];
  });
