import os
import socket

import pytest

from marin.local import ports
from marin.local.errors import LocalError

OFFSETS = {"catalog": 1, "workflow": 2}


def test_a_claimed_block_is_passed_over_until_the_claim_ends():
    first, claim = ports.claim_block(OFFSETS)
    second, other = ports.claim_block(OFFSETS)
    assert second > first
    claim.close()
    third, again = ports.claim_block(OFFSETS)
    assert third == first
    other.close()
    again.close()


def test_a_block_with_one_busy_port_is_passed_over():
    base, claim = ports.claim_block(OFFSETS)
    claim.close()
    with socket.create_server(("127.0.0.1", base + 2)):
        other, claim = ports.claim_block(OFFSETS, before=base)
        claim.close()
    assert other != base


def test_the_last_block_is_taken_again():
    base, claim = ports.claim_block(OFFSETS, before=18_440)
    claim.close()
    assert base == 18_440


def test_the_owner_of_a_port_is_found_also_on_the_wildcard_address():
    with socket.create_server(("0.0.0.0", 0)) as s:
        port = s.getsockname()[1]
        assert ports.owner(port).startswith(f"{os.getpid()} (")
        assert not ports.is_free(port)
    assert ports.owner(port) is None


@pytest.mark.parametrize("base", [0, 65_534])
def test_a_base_outside_of_the_port_range_is_refused(base):
    with pytest.raises(LocalError, match="ports end at 65535"):
        ports.claim_block(OFFSETS, wanted=base)
