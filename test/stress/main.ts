/**
 * `npm run stress` runs the comparison of every byte, `npm run stress -- churn` and
 * `npm run stress -- idle` the other two. Each file names its variables.
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
  default:
    process.stderr.write('Usage: npm run stress [-- bytes | churn | idle]\n');
    process.exitCode = 2;
}
