"""Just enough of the protobuf wire format to find fields in a message, and to write messages."""


def varint(data, at):
    """The varint at a position, and the position after it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


SHORT = [bytes([value]) for value in range(0x80)]


def encode_varint(value):
    if value <= 0x7F:
        return SHORT[value]
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def fields(data, start=0, end=None):
    """(number, wire type, begin, end, varint value) of each field; a range is that of the value."""
    at, end = start, len(data) if end is None else end
    while at < end:
        key, at = varint(data, at)
        number, kind, value = key >> 3, key & 7, None
        begin = at
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            at += 8
        elif kind == 2:
            length, begin = varint(data, at)
            at = begin + length
        elif kind == 5:
            at += 4
        else:
            raise ValueError(f"wire type {kind} at byte {begin}")
        if at > end:
            raise ValueError(f"field {number} runs past the end")
        yield number, kind, begin, at, value


def field_varint(number, value):
    """A varint field with its tag; protobuf leaves a zero out."""
    return encode_varint(number << 3) + encode_varint(value) if value else b""


def field_bytes(number, body):
    """A length-delimited field with its tag: bytes, or text."""
    if isinstance(body, str):
        body = body.encode()
    return encode_varint(number << 3 | 2) + encode_varint(len(body)) + body


def field_packed(number, values):
    return field_bytes(number, b"".join(map(encode_varint, values)))


def replace(data, number, change):
    """The message with change(body) in place of the body of each field of that number."""
    out, done = bytearray(), 0
    for found, kind, begin, end, _ in fields(data):
        if found == number and kind == 2:
            out += field_bytes(number, change(data[begin:end]))
        else:
            out += data[done:end]
        done = end
    return bytes(out)
