#!/usr/bin/env php
<?php
// usage: limit.php SOCKET SCRIPT LIMIT/SECONDS...
// Asks for one request for each key, a line of standard input, with phpredis.
declare(strict_types=1);

const TIMEOUT = 1.0; // in seconds

final class Decision
{
    public function __construct(
        public readonly bool $allowed,
        public readonly int $remaining,
        public readonly ?float $retryAfter, // in seconds; null: such a request can never be allowed
    ) {}
}

final class Limiter
{
    /** @param array<int, int> $limits window in seconds => number of requests */
    public function __construct(private Redis $redis, private string $script, private array $limits) {}

    public function check(string $key): Decision
    {
        $keys = $args = [];
        foreach ($this->limits as $window => $limit) {
            // The braces are a hash tag: all keys are in one slot of a Cluster.
            $keys[] = count($this->limits) === 1 ? $key : "{{$key}}:{$window}s";
            array_push($args, $limit, $window * 1_000_000, '');
        }
        $call = [sha1($this->script), [...$keys, ...$args], count($keys)];
        $this->redis->clearLastError();
        $reply = $this->redis->evalSha(...$call);
        if ($reply === false && str_starts_with($this->redis->getLastError() ?? '', 'NOSCRIPT')) {
            $this->redis->script('load', $this->script);
            $reply = $this->redis->evalSha(...$call);
        }
        [$allowed, $remaining, $retry] = $reply ?: throw new RedisException($this->redis->getLastError());
        return new Decision($allowed === 1, $remaining, $retry < 0 ? null : $retry / 1e6);
    }
}

$redis = new Redis();
$redis->connect($argv[1], 0, TIMEOUT, null, 0, TIMEOUT);
// A request that timed out may have been counted, so it must not be sent again.
$redis->setOption(Redis::OPT_MAX_RETRIES, 0);
foreach (array_slice($argv, 3) as $argument) {
    [$limit, $window] = explode('/', $argument);
    $limits[(int) $window] = (int) $limit;
}
$limiter = new Limiter($redis, file_get_contents($argv[2]), $limits);
while (($key = fgets(STDIN)) !== false) {
    $d = $limiter->check(rtrim($key, "\n"));
    $wait = $d->retryAfter === null ? 'never' : sprintf('%.3fs', $d->retryAfter);
    echo $d->allowed ? 'allowed' : 'denied', " remaining=$d->remaining",
        $d->allowed ? '' : " retry_after=$wait", "\n";
}
