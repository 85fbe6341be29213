import { describeShard } from './shard';

describeShard(0, ['none']);
