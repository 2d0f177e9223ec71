import { matrix } from '../../support/matrix/matrix.ts';

matrix('vmess');
