/**
 * `npm run stress` runs the comparison of every byte, and `npm run stress -- churn`,
 * `-- connects`, `-- idle`, `-- hysteria2`, `-- instances`, `-- limits`, `-- sequences`, `-- tun` and `-- usage` the others.
 * Each file names its variables.
 */
const [mode = 'bytes'] = process.argv.slice(2);
switch (mode) {
  case 'bytes':
    await import('./kernel-sockets.ts');
    break;
  case 'churn':
    await import('./churn.ts');
    break;
  case 'idle':
    await import('./idle-flows.ts');
    break;
  case 'hysteria2':
    await import('./hysteria2.ts');
    break;
  case 'limits':
    await import('./limits.ts');
    break;
  case 'sequences':
    await import('./tcp-sequences.ts');
    break;
  case 'tun':
    await import('./tun-floods.ts');
    break;
  case 'usage':
    await import('./usage.ts');
    break;
  case 'instances':
    await import('./instances.ts');
    break;
  case 'connects':
    await import('./connects.ts');
    break;
  default:
    process.stderr.write(
      'Usage: npm run stress [-- bytes | churn | connects | idle | hysteria2 | instances | limits | sequences | tun | usage]\n',
    );
    process.exitCode = 2;
}
