import { describeShard } from './shard';

describeShard(1, ['none']);
