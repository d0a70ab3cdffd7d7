-- For wrk: POSTs the bodies of a pool in turn. Arguments: the pool, seconds of load.
-- wrk itself stops with requests in flight. This script starts none after those seconds and gives wrk
-- two more to receive all responses; the report shows whether it did.
local ffi = require("ffi")
ffi.cdef("struct timespec { long s, ns; }; int clock_gettime(int, struct timespec *);")
local clock, bodies, seconds, main = ffi.new("struct timespec"), {}, 0, nil
begun, first, last = -1, 0, 0 -- wrk calls request() once beforehand to inspect its result

local function now()
    ffi.C.clock_gettime(1, clock)
    return tonumber(clock.s) + tonumber(clock.ns) / 1e9
end

function setup(thread) main = thread end

function init(args)
    local headers = {["Content-Type"] = "application/x-protobuf"}
    local file = assert(io.open(args[1], "rb"))
    for head in function() return file:read(16) end do -- see pool.h
        local a, b, c, d = head:byte(13, 16)
        local body = file:read(a + 256 * (b + 256 * (c + 256 * d)))
        bodies[#bodies + 1] = wrk.format("POST", nil, headers, body)
    end
    seconds = tonumber(args[2])
end

function request()
    if begun == 0 then first = now() end
    begun = begun + 1
    return bodies[(begun - 1) % #bodies + 1]
end

function delay() -- milliseconds; called before each request, which is after each response
    last = now()
    return first > 0 and last - first >= seconds and 1e9 or 0
end

function done(summary, latency)
    local e = summary.errors
    print(string.format('{"begun": %d, "answered": %d, "refused": %d, "broken": %d, ' ..
        '"seconds": %.3f, "p50_us": %d, "p99_us": %d}', main:get("begun"), summary.requests,
        e.status, e.connect + e.read + e.write, main:get("last") - main:get("first"),
        latency:percentile(50), latency:percentile(99)))
end
