"""Lists that follow a conversation store.

A projection here is fed by the change feed, after the commit, and knows the public names of `eventstore` only.
"""

from projections.follow import AsyncFollowing, Following, follow
from projections.follower import Change
from projections.mirror import mirror

__all__ = ["AsyncFollowing", "Change", "Following", "follow", "mirror"]
